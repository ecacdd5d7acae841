// A QUIC server and client by quic-go: "server PORT" sends without end, "client ADDRESS PORT" receives.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/quic-go/quic-go"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func server(port string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	made := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(1e9, 0), NotAfter: time.Unix(4e9, 0)}
	der, err := x509.CreateCertificate(rand.Reader, made, made, &key.PublicKey, key)
	check(err)
	certificate := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	settings := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"bulk"}}
	listener, err := quic.ListenAddr(net.JoinHostPort("", port), settings, nil)
	check(err)
	connection, err := listener.Accept(context.Background())
	check(err)
	stream, err := connection.OpenUniStreamSync(context.Background())
	check(err)
	for chunk := make([]byte, 1<<20); err == nil; {
		_, err = stream.Write(chunk)
	}
}

func client(address, port string) {
	settings := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"bulk"}}
	connection, err := quic.DialAddr(context.Background(), net.JoinHostPort(address, port), settings, nil)
	check(err)
	stream, err := connection.AcceptUniStream(context.Background())
	check(err)
	_, err = io.Copy(io.Discard, stream)
	check(err)
}

func main() {
	if os.Args[1] == "server" {
		server(os.Args[2])
	} else {
		client(os.Args[2], os.Args[3])
	}
}
