"""Clients of Pulsar: their configuration from Flink's properties, and the meaning of their
errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.common.config.config_options import ConfigOption
from millrace.common.errors import JobDefinitionError
from millrace.common.installation import missing_package
from millrace.connectors.errors import ConnectorError

__all__ = [
    "ADMIN_URL",
    "CONSUMER_NAME",
    "SERVICE_URL",
    "PulsarError",
    "PulsarProperties",
    "create_client",
    "explained",
    "import_pulsar",
]

SERVICE_URL = "pulsar.client.serviceUrl"
ADMIN_URL = "pulsar.admin.adminUrl"
CONSUMER_NAME = "pulsar.consumer.consumerName"
PLUGIN = "pulsar.client.authPluginClassName"
PARAMS = "pulsar.client.authParams"
CERTIFICATES = "pulsar.client.tlsTrustCertsFilePath"
INSECURE = "pulsar.client.tlsAllowInsecureConnection"
HOSTNAME = "pulsar.client.tlsHostnameVerificationEnable"
TIMEOUT = "pulsar.client.operationTimeoutMs"
CONNECTING = "pulsar.client.connectionTimeoutMs"
THREADS = "pulsar.client.numIoThreads"
LISTENER = "pulsar.client.listenerName"
_OF_CLIENTS = (
    *(SERVICE_URL, ADMIN_URL, PLUGIN, PARAMS, CERTIFICATES, INSECURE, HOSTNAME, TIMEOUT),
    *(CONNECTING, THREADS, LISTENER),
)
_REFUSED = {
    "pulsar.sink.deliveryGuarantee": "call set_delivery_guarantee()",
    "pulsar.sink.transactionTimeoutMillis": "exactly-once is by sequence ids, without transactions",
    "pulsar.source.transactionTimeoutMillis": "a source needs no transactions",
    "pulsar.source.resetSubscriptionCursor": "a job that does not go on from a checkpoint always "
    "begins at its set_start_cursor()",
    "pulsar.consumer.subscriptionType": "partitions are read by one subtask each, in their order",
    "pulsar.consumer.subscriptionMode": "a subscription is always durable",
    "pulsar.client.useTls": "the service URL says so: pulsar+ssl://HOST:6651",
}
"""Properties of Flink's that ask for what is said or done otherwise here."""
_DEFAULT_TIMEOUT_MS = 30_000
_DEFAULT_CONNECTING_MS = 10_000


class PulsarError(ConnectorError):
    """Pulsar is not readable or writable, or is not configured as the job requires."""


@dataclass(frozen=True)
class PulsarProperties:
    """Properties with Flink's names; the `repr` leaves out their values, since some are secret."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    def number(self, name: str, default: int) -> int:
        """The value of a property that is a whole number.

        Raises:
            JobDefinitionError: the property is not a whole number.
        """
        try:
            return int(self.values.get(name, default))
        except ValueError:
            raise JobDefinitionError(
                f"the Pulsar property {name} must be a number, not {self.values[name]!r}"
            ) from None

    def true(self, name: str, default: bool = False) -> bool:
        """Whether a property has the value ``true``."""
        return self.values.get(name, str(default)).lower() == "true"

    def with_values(self, properties: Any, more: tuple[str, ...]) -> PulsarProperties:
        """These properties, and the given ones in addition.

        Args:
            more: allowed names in addition to those of clients.

        Raises:
            JobDefinitionError: they are no dict of texts and numbers, or a name is unknown.
        """
        if not isinstance(properties, Mapping):
            raise JobDefinitionError(f"Pulsar properties are a dict, not {properties!r}")
        properties = {_key(name): value for name, value in properties.items()}
        known = {*_OF_CLIENTS, *more}
        for name, value in properties.items():
            if name in _REFUSED:
                raise JobDefinitionError(
                    f"the Pulsar property {name!r} is not supported: {_REFUSED[name]}"
                )
            if name not in known:
                raise JobDefinitionError(
                    f"there is no Pulsar property {name!r}; the properties are "
                    f"{', '.join(sorted(known))}"
                )
            if not isinstance(value, (str, int, float)):
                raise JobDefinitionError(f"the Pulsar property {name} is a text or a number")
        return PulsarProperties({**self.values, **{k: str(v) for k, v in properties.items()}})

    def with_authentication(self, plugin: str, params: str | Mapping[str, str]) -> PulsarProperties:
        """These properties, with the job's credentials added."""
        if isinstance(params, Mapping):
            params = ",".join(f"{name}:{value}" for name, value in params.items())
        return self.with_values({PLUGIN: plugin, PARAMS: params}, tuple(self.values))


def _key(name: Any) -> Any:
    """A property's name, which PyFlink programs also give as a `ConfigOption`."""
    return name.key if isinstance(name, ConfigOption) else name


def import_pulsar() -> Any:
    """Import the module pulsar.

    Raises:
        PulsarError: it is not installed.
    """
    try:
        import pulsar
    except ImportError as error:
        raise PulsarError(
            missing_package(
                "the Pulsar connector needs", "pulsar-client", "pulsar", on_workers=True
            )
        ) from error
    return pulsar


def create_client(properties: PulsarProperties) -> Any:
    """A client, which connects at its first use.

    Raises:
        PulsarError: the package is missing, or the client refuses a property.
    """
    pulsar = import_pulsar()
    values = properties.values
    options: dict[str, Any] = {
        "operation_timeout_seconds": max(
            1, properties.number(TIMEOUT, _DEFAULT_TIMEOUT_MS) // 1_000
        ),
        "connection_timeout_ms": properties.number(CONNECTING, _DEFAULT_CONNECTING_MS),
        "io_threads": properties.number(THREADS, 1),
        "tls_trust_certs_file_path": values.get(CERTIFICATES),
        "tls_allow_insecure_connection": properties.true(INSECURE),
        "tls_validate_hostname": properties.true(HOSTNAME),
        "listener_name": values.get(LISTENER),
        "authentication": _authentication(pulsar, properties),
        "logger": pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    }
    try:
        return pulsar.Client(values[SERVICE_URL], **options)
    except Exception as error:  # whatever kinds the client has
        raise PulsarError(
            f"no client of Pulsar can be made: {error}; the service URL is "
            "pulsar://HOST:6650, with TLS pulsar+ssl://HOST:6651"
        ) from error


def token_of(properties: PulsarProperties) -> str | None:
    """The job's authentication token; None if it has none."""
    if not properties.values.get(PLUGIN, "").endswith("AuthenticationToken"):
        return None
    params = properties.values.get(PARAMS, "")
    if params.startswith("file:"):
        with open(params.removeprefix("file:").removeprefix("//")) as file:
            return file.read().strip()
    return params.removeprefix("token:")


def _authentication(pulsar: Any, properties: PulsarProperties) -> Any:
    """The client's authentication; None if none is configured."""
    plugin = properties.values.get(PLUGIN, "").rpartition(".")[2]
    params = properties.values.get(PARAMS, "")
    if not plugin:
        return None
    if plugin == "AuthenticationToken":
        return pulsar.AuthenticationToken(token_of(properties))
    if plugin == "AuthenticationTls":
        return pulsar.AuthenticationTLS(*_tls_files(params))
    if plugin == "AuthenticationBasic":
        return pulsar.AuthenticationBasic(*_user_and_password(params))
    if plugin == "AuthenticationOAuth2":
        return pulsar.AuthenticationOauth2(params)
    raise PulsarError(
        f"{PLUGIN} is AuthenticationToken, AuthenticationTls, AuthenticationBasic or "
        f"AuthenticationOAuth2, not {plugin!r}"
    )


def _tls_files(params: str) -> tuple[str, str]:
    """Paths of the certificate and the key in ``tlsCertFile:PATH,tlsKeyFile:PATH``."""
    paths = dict(part.partition(":")[::2] for part in params.split(","))
    if not paths.get("tlsCertFile") or not paths.get("tlsKeyFile"):
        raise PulsarError(f"{PARAMS} of AuthenticationTls is tlsCertFile:PATH,tlsKeyFile:PATH")
    return paths["tlsCertFile"], paths["tlsKeyFile"]


def _user_and_password(params: str) -> tuple[str, str]:
    """User and password in ``{"userId": ..., "password": ...}``; errors do not show them."""
    try:
        values = json.loads(params)
        return values["userId"], values["password"]
    except (ValueError, KeyError, TypeError):
        raise PulsarError(
            f'{PARAMS} of AuthenticationBasic is {{"userId": "...", "password": "..."}}'
        ) from None


def explained(error: Exception, topic: str, doing: str) -> PulsarError:
    """Error that explains why a request about a topic was refused.

    Args:
        doing: such as ``read``.
    """
    kind = type(error).__name__
    why = {
        "TopicNotFound": "there is no such topic",
        "AuthenticationError": "the brokers do not accept the credentials",
        "AuthorizationError": "the job has no right to",
        "ConnectError": "no broker answers at the service URL",
        "Timeout": "no broker has answered in time",
        "ConsumerBusy": "the subscription is in use: choose another set_subscription_name()",
        "TopicTerminated": "it was terminated",
    }.get(kind, kind)
    return PulsarError(f"cannot {doing} the Pulsar topic '{topic}': {why} ({error})")
