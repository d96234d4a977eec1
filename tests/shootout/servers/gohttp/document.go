// What both Go servers make JSON of.
package main

type data struct {
	ID   int      `json:"id"`
	Name string   `json:"name"`
	Tags []string `json:"tags"`
}

type document struct {
	Status  string `json:"status"`
	Version int    `json:"version"`
	Path    string `json:"path"`
	Data    data   `json:"data"`
}
