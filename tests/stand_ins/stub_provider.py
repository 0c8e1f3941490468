"""An OpenID Connect provider on this machine that logs everybody in as one user, without asking."""

import base64
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, CLIENT_SECRET = "planner", "the client's secret"


@contextmanager
def running_provider(claims):
    """Gives the provider's address; `claims` say who logs in, and may be changed meanwhile."""
    key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
    nonces = {}

    class Provider(BaseHTTPRequestHandler):
        def do_GET(self):
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path == "/.well-known/openid-configuration":
                self._answer(_discovery(issuer))
            elif parts.path == "/jwks":
                self._answer({"keys": [key.as_dict(private=False)]})
            elif parts.path == "/authorize":
                assert query["client_id"] == CLIENT
                assert "openid" in query["scope"].split()
                code = f"code-{len(nonces)}"
                nonces[code] = query.get("nonce")
                self.send_response(302)
                self.send_header(
                    "Location", f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"
                )
                self.end_headers()
            else:
                self.send_error(404)

        def do_POST(self):
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            basic = base64.b64decode(self.headers.get("Authorization", "Basic ").split(" ")[1]).decode()
            if basic != f"{CLIENT}:{CLIENT_SECRET}":
                self.send_error(401)
                return
            now = int(time.time())
            token = {"iss": issuer, "aud": CLIENT, "sub": "1", "iat": now, "exp": now + 600, **claims}
            token["nonce"] = nonces.pop(form["code"][0])
            signed = jwt.encode({"alg": "RS256", "kid": "one"}, token, key)
            self._answer({"access_token": "access", "token_type": "Bearer", "expires_in": 600, "id_token": signed})

        def _answer(self, data):
            body = json.dumps(data).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    issuer = f"http://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def _discovery(issuer):
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "jwks_uri": f"{issuer}/jwks",
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic"],
    }
