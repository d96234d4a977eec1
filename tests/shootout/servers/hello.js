// node's own server; with more than one process, its cluster. Written for every node since 0.10.
//
//     node hello.js PORT PROCESSES BODY
var cluster = require('cluster'), http = require('http');
// The last three: pm2 leaves its own words before them.
var given = process.argv.slice(-3), port = Number(given[0]), processes = Number(given[1]), body = given[2];

if (processes > 1 && cluster.isMaster) {
    for (var i = 0; i < processes; ++i) cluster.fork();
} else {
    http.createServer(function (request, response) {
        response.writeHead(200, {'Content-Type': 'text/plain', 'Content-Length': Buffer.byteLength(body)});
        response.end(body);
    }).listen(port, '127.0.0.1', 4096);
}
