// net/http as its documentation uses it: a body at /, JSON that is made for each request, and a body that is counted.
package main

import (
	"encoding/json"
	"flag"
	"io"
	"log"
	"net/http"
	"strconv"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	body := flag.String("body", "hello world", "what / answers")
	flag.Parse()

	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, *body) })
	http.HandleFunc("/api/v3/json", func(w http.ResponseWriter, r *http.Request) {
		out, err := json.Marshal(document{"ok", 3, r.URL.Path, data{1, "fastserve", []string{"http", "c++20", "asio"}}})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(out)
	})
	http.HandleFunc("/upload", func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		io.WriteString(w, strconv.FormatInt(n, 10))
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
