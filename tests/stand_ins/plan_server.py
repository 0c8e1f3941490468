"""A plan server of a few lines that answers each connection by a script, which may mean harm."""

import contextlib
import socket
import ssl
import threading

from stand_ins.tls_certificate import self_signed

PATIENCE_S = 20.0
"""For which it waits for a request."""


class PlanServer:
    """Answers each connection by a script: a function of the server and the connection."""

    def __init__(self, folder, script):
        self.certificate = self_signed(folder)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.certificate, folder / "key.pem")
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._script = script
        self.port = self._listening.getsockname()[1]
        self.ends = threading.Event()
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._answer, args=(connection,), daemon=True))
            self._threads[-1].start()

    def _answer(self, connection):
        with contextlib.suppress(OSError), connection:
            if getattr(self._script, "before_tls", False):
                self._script(self, connection)
                return
            with self._context.wrap_socket(connection, server_side=True) as tls:
                tls.settimeout(PATIENCE_S)
                asked = b""
                while b"\r\n\r\n" not in asked:
                    asked += tls.recv(65536)
                self._script(self, tls)

    def drip(self, connection, pieces, pause_s=0.05):
        """Sends piece after piece until the other side, or the test, has enough."""
        for piece in pieces:
            connection.sendall(piece)
            if self.ends.wait(pause_s):
                return

    def close(self):
        self.ends.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(PATIENCE_S)
