// The first rows of a table, as JSON: net/http with database/sql and go-sql-driver.
package main

import (
	"database/sql"
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"strconv"
	"strings"

	_ "github.com/go-sql-driver/mysql"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	source := flag.String("database", "", "the data source's name")
	query := flag.String("sql", "", "with {rows} for the table's size")
	flag.Parse()

	db, err := sql.Open("mysql", *source)
	if err != nil {
		log.Fatal(err)
	}
	// Its default keeps two, and connects again for all others.
	db.SetMaxIdleConns(128)
	http.HandleFunc("/items/", func(w http.ResponseWriter, r *http.Request) {
		rows, err := strconv.ParseUint(strings.TrimPrefix(r.URL.Path, "/items/"), 10, 64)
		if err != nil {
			http.Error(w, "the size of a table is a number", http.StatusBadRequest)
			return
		}
		found, err := ask(db, strings.Replace(*query, "{rows}", strconv.FormatUint(rows, 10), 1))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		out, err := json.Marshal(found)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(out)
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
