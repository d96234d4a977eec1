// go-martini: JSON that is made for each request, and, where a database is named, the first rows of a table.
package main

import (
	"database/sql"
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-martini/martini"
	_ "github.com/go-sql-driver/mysql"
)

func answer(w http.ResponseWriter, value interface{}, err error) (int, string) {
	if err != nil {
		return http.StatusInternalServerError, err.Error()
	}
	out, err := json.Marshal(value)
	if err != nil {
		return http.StatusInternalServerError, err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	return http.StatusOK, string(out)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	source := flag.String("database", "", "the data source's name")
	query := flag.String("sql", "", "with {rows} for the table's size")
	flag.Parse()

	db, err := sql.Open("mysql", *source)
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxIdleConns(128)

	// martini.Classic() without its logger: no other server writes a line for each request.
	router := martini.NewRouter()
	m := martini.New()
	m.Use(martini.Recovery())
	m.MapTo(router, (*martini.Routes)(nil))
	m.Action(router.Handle)
	router.Get("/api/v3/json", func(w http.ResponseWriter, r *http.Request) (int, string) {
		return answer(w, document{"ok", 3, r.URL.Path, data{1, "fastserve", []string{"http", "c++20", "asio"}}}, nil)
	})
	router.Get("/items/:rows", func(w http.ResponseWriter, parameters martini.Params) (int, string) {
		rows, err := strconv.ParseUint(parameters["rows"], 10, 64)
		if err != nil {
			return http.StatusBadRequest, "the size of a table is a number"
		}
		found, err := ask(db, strings.Replace(*query, "{rows}", strconv.FormatUint(rows, 10), 1))
		return answer(w, found, err)
	})
	log.Fatal(http.ListenAndServe(*listen, m))
}
