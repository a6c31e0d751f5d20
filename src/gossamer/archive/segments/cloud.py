"""Object storage of a provider or of our own: S3 and the like, Google Cloud Storage, Azure.

    s3://bucket/prefix?region=eu-central-1
    s3://bucket/prefix?endpoint=http://127.0.0.1:9000&region=us-east-1&access_key_id=${KEY}&secret_access_key=${SECRET}
    gs://bucket/prefix        az://container/prefix?account_name=...

Parameters are those of obstore. Credentials that are not given come from the storage's usual environment variables.
A segment is put with a condition (`If-None-Match: *`), so that an object is never overwritten.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import obstore
from obstore import exceptions
from obstore.store import AzureStore, GCSStore, S3Store

from gossamer.archive.segments.storage import PIECE_BYTES, ObjectExists
from gossamer.base.clock import Clock
from gossamer.base.errors import ConfigError
from gossamer.base.secrets import revealed
from gossamer.base.tell import Tell
from gossamer.config.load import without_password
from gossamer.store.service import AWAY, Reachability, ServiceRefused

SETTING = "archive.storage"
STORES: dict[str, Any] = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}
LOGIN = {"s3": ("access_key_id", "secret_access_key"), "az": ("account_name", "account_key")}
"""What a name and a password in the address mean."""
CLIENT: dict[str, Any] = {"connect_timeout": "5s", "read_timeout": "30s", "timeout": "600s", "user_agent": "gossamer"}
UPLOADS = 2
"""Parts of one large object that are sent at the same time; each is in memory."""
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_BUCKET_CODES = frozenset({"NoSuchBucket", "ContainerNotFound"})
_LOGIN_WORDS = re.compile(
    r"credential|169\.254\.169\.254|metadata\.google|access token|CredentialsProvider", re.IGNORECASE
)
KINDS = {"Connect": "connection refused", "Timeout": "no answer in time", "Request": "the connection broke off"}
TROUBLE = (exceptions.BaseError, OSError, ValueError)


class CloudObjects:
    """An `ObjectStorage`."""

    def __init__(self, address: str, clock: Clock, tell: Tell) -> None:
        """Raises ConfigError for an address that means nothing."""
        given = urlsplit(revealed(address, os.environ))
        shown = urlsplit(str(without_password(address)))
        if given.scheme not in STORES or not given.hostname:
            raise ConfigError(f'{SETTING} is no address of object storage, such as "s3://bucket/prefix?region=..."')
        self.name = f"{SETTING} at {shown.scheme}://{given.hostname}{shown.path.rstrip('/')}"
        options = dict(parse_qsl(given.query))
        for option, value in zip(LOGIN.get(given.scheme, ()), (given.username, given.password), strict=False):
            if value is not None:
                options[option] = unquote(value)
        client = CLIENT | {"allow_http": options.get("endpoint", "").startswith("http://")}
        try:
            self._store = STORES[given.scheme](
                given.hostname,
                prefix=given.path.strip("/") or None,
                config=options,
                client_options=client,
                retry_config={"max_retries": 0},
            )
        except TROUBLE as error:
            words = str(error).splitlines()[0]
            for secret in filter(None, options.values()):
                words = words.replace(secret, "***")
            raise ConfigError(f"{self.name} cannot be opened: {words[:200]}") from None
        self._reach = Reachability(self.name, clock, tell)

    @property
    def trouble(self) -> str:
        return self._reach.trouble

    def check(self) -> None:
        """Whether we may list it, and the bucket exists."""
        try:
            next(iter(obstore.list(self._store, prefix="archive", chunk_size=1)), None)
        except TROUBLE as error:
            raise self._meaning("archive", error) from None
        self._reach.note_answer()

    def put(self, key: str, content: bytes) -> None:
        try:
            obstore.put(self._store, key, content, mode="create", use_multipart=False)
        except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
            if self.size(key) != len(content) or self.read(key, 0, len(content)) != content:
                raise ObjectExists(key) from None  # else our own request whose answer was lost
        except TROUBLE as error:
            raise self._meaning(key, error) from None
        self._reach.note_answer()

    def put_pieces(self, key: str, pieces: Iterable[bytes]) -> int:
        """In a multipart upload, which no storage offers with a condition: so the key is looked at before."""
        if self.size(key) is not None:
            raise ObjectExists(key)
        size = 0
        upload = obstore.open_writer(self._store, key, buffer_size=PIECE_BYTES, max_concurrency=UPLOADS)
        for piece in pieces:
            with self._translated(key):
                upload.write(piece)
            size += len(piece)
        with self._translated(key):
            upload.close()  # until then it is not there; an upload that was given up is never completed
        self._reach.note_answer()
        return size

    def read(self, key: str, offset: int, length: int) -> bytes:
        if length <= 0:
            return b""
        try:
            found = bytes(obstore.get_range(self._store, key, start=offset, length=length))
        except TROUBLE as error:
            if "status code: 416" in str(error):  # it begins beyond the end
                return b""
            raise self._meaning(key, error) from None
        self._reach.note_answer()
        return found

    def size(self, key: str) -> int | None:
        try:
            found = obstore.head(self._store, key)["size"]
        except FileNotFoundError:
            return None
        except TROUBLE as error:
            raise self._meaning(key, error) from None
        self._reach.note_answer()
        return found

    def names(self, prefix: str) -> Iterable[str]:
        try:
            for some in obstore.list(self._store, prefix=prefix.rstrip("/"), chunk_size=1000):
                yield from (one["path"].rpartition("/")[2] for one in some)
        except TROUBLE as error:
            raise self._meaning(prefix, error) from None
        self._reach.note_answer()

    def remove(self, key: str) -> None:
        try:
            obstore.delete(self._store, key)
        except FileNotFoundError:
            return
        except TROUBLE as error:
            raise self._meaning(key, error) from None
        self._reach.note_answer()

    def room(self) -> int | None:
        return None

    @contextmanager
    def _translated(self, key: str) -> Iterator[None]:
        try:
            yield
        except TROUBLE as error:
            raise self._meaning(key, error) from None

    def _meaning(self, key: str, error: Exception) -> Exception:
        """What an error of obstore means. Its own words may hold addresses with secrets, so few of them are kept."""
        words = str(error)
        code = found[1] if (found := _CODE.search(words)) else ""
        status = int(found[1]) if (found := _STATUS.search(words)) else 0
        if code in _BUCKET_CODES:
            return ServiceRefused(f"{self.name}: there is no such bucket; create it first", 404, b"")
        if isinstance(error, FileNotFoundError):
            return FileNotFoundError(2, "there is no such object", key)
        is_denied = isinstance(error, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError)
        if is_denied or status in (401, 403):
            why = f" ({code})" if code else ""
            return ServiceRefused(
                f"{self.name} refuses our credentials{why}: check them, and what they allow", 403, b""
            )
        if status in AWAY or status >= 500:
            return self._reach.lost_by(f"status {status}")
        if status >= 400:
            return ServiceRefused(f"{self.name} refuses {key} (status {status} {code})".rstrip(), status, b"")
        if _LOGIN_WORDS.search(words):
            return ServiceRefused(
                f"{self.name}: no credentials were found; set the storage's usual variables, such as AWS_ACCESS_KEY_ID "
                "and AWS_SECRET_ACCESS_KEY, or name them in the address",
                401,
                b"",
            )
        kind = next((said for name, said in KINDS.items() if f"kind: {name}" in words), "no connection")
        return self._reach.lost_by(kind)
