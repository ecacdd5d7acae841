//! A QUIC server and client by quinn: "server PORT CONTROL" sends without end, "client ADDRESS PORT" receives.
//! The variable NO_OFFLOAD keeps the server from giving the kernel several datagrams at a time.
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{congestion, ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Takes every certificate: the network is the scenario's own.
#[derive(Debug)]
struct Trusting(Vec<SignatureScheme>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self, _: &CertificateDer<'_>, _: &[CertificateDer<'_>], _: &ServerName<'_>, _: &[u8], _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self, _: &[u8], _: &CertificateDer<'_>, _: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self, _: &[u8], _: &CertificateDer<'_>, _: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.clone()
    }
}

/// What is not quinn's default: the control by name, windows that do not bound a transfer, and offload as it is asked for.
fn transport(control: &str) -> Arc<TransportConfig> {
    let mut settings = TransportConfig::default();
    match control {
        "reno" => settings.congestion_controller_factory(Arc::new(congestion::NewRenoConfig::default())),
        "bbr" => settings.congestion_controller_factory(Arc::new(congestion::BbrConfig::default())),
        _ => settings.congestion_controller_factory(Arc::new(congestion::CubicConfig::default())),
    };
    settings.stream_receive_window(VarInt::from_u32(10_000_000));
    settings.enable_segmentation_offload(std::env::var_os("NO_OFFLOAD").is_none());
    Arc::new(settings)
}

async fn server(port: u16, control: &str) -> Result<()> {
    let made = rcgen::generate_simple_self_signed(vec!["server".into()])?;
    let key = PrivateKeyDer::try_from(made.key_pair.serialize_der())?;
    let mut settings = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key)?;
    settings.transport_config(transport(control));
    let endpoint = Endpoint::server(settings, SocketAddr::new("::".parse::<IpAddr>()?, port))?;
    let connection = endpoint.accept().await.ok_or("closed")?.await?;
    let mut stream = connection.open_uni().await?;
    let chunk = vec![0; 1 << 20];
    loop {
        stream.write_all(&chunk).await?;
    }
}

async fn client(address: IpAddr, port: u16) -> Result<()> {
    let schemes = rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes();
    let tls = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting(schemes)))
        .with_no_client_auth();
    let mut settings = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    settings.transport_config(transport(""));
    let any = if address.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    let endpoint = Endpoint::client(any.parse()?)?;
    let connection = endpoint.connect_with(settings, SocketAddr::new(address, port), "server")?.await?;
    let mut stream = connection.accept_uni().await?;
    while stream.read_chunk(1 << 20, true).await?.is_some() {}
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    rustls::crypto::ring::default_provider().install_default().expect("none is installed");
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[1..] {
        ["server", port, control] => server(port.parse()?, control).await,
        ["client", address, port] => client(address.parse()?, port.parse()?).await,
        _ => Err("usage: pair server PORT CONTROL | client ADDRESS PORT".into()),
    }
}
