module pair

go 1.23

require github.com/quic-go/quic-go v0.65.0
