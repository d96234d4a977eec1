// A source of raw TCP: 4,096-byte packets without end to each that connects.
package main

import (
	"bytes"
	"flag"
	"log"
	"net"
)

func pour(peer net.Conn) {
	defer peer.Close()
	packet := bytes.Repeat([]byte("x"), 4096)
	for {
		if _, err := peer.Write(packet); err != nil {
			return
		}
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	flag.Parse()
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	for {
		peer, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go pour(peer)
	}
}
