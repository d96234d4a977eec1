// fasthttp: a body at /, and at /upload one that is counted while it arrives.
package main

import (
	"flag"
	"io"
	"log"
	"net"
	"strconv"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/reuseport"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	body := flag.String("body", "hello world", "what / answers")
	streaming := flag.Bool("streaming", false, "hand bodies to the handler before they are whole")
	several := flag.Bool("reuseport", false, "share the port with other processes")
	flag.Parse()

	open := net.Listen
	if *several {
		open = reuseport.Listen
	}
	listener, err := open("tcp4", *listen)
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{
		StreamRequestBody:  *streaming,
		MaxRequestBodySize: 64 << 20,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("text/plain")
			if string(ctx.Path()) != "/upload" {
				ctx.SetBodyString(*body)
				return
			}
			n := int64(0)
			if stream := ctx.RequestBodyStream(); stream != nil {
				var err error
				if n, err = io.Copy(io.Discard, stream); err != nil {
					ctx.Error(err.Error(), fasthttp.StatusBadRequest)
					return
				}
			} else {
				n = int64(len(ctx.Request.Body()))
			}
			ctx.SetBodyString(strconv.FormatInt(n, 10))
		},
	}
	log.Fatal(server.Serve(listener))
}
