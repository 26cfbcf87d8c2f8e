"""Clients of Kinesis: their configuration from Flink's properties, and the meaning of their errors.

Unless properties say otherwise, credentials, region and endpoint are found as every program of AWS
finds them: environment variables, profiles, roles of containers and machines.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.installation import missing_package
from millrace.connectors.errors import ConnectorError

__all__ = [
    "FIREHOSE",
    "KINESIS",
    "AwsService",
    "KinesisError",
    "KinesisProperties",
    "create_client",
    "explained",
    "is_transient",
]

_REGION = "aws.region"
_ENDPOINT = "aws.endpoint"
_PROFILE = "aws.credentials.provider.profile.name"
_PROFILE_PATH = "aws.credentials.provider.profile.path"
_KEY_ID = "aws.credentials.provider.basic.accesskeyid"
_SECRET = "aws.credentials.provider.basic.secretkey"
_TOKEN = "aws.credentials.provider.basic.token"
_OF_CLIENTS = (_REGION, _ENDPOINT, _PROFILE, _PROFILE_PATH, _KEY_ID, _SECRET, _TOKEN)
_CLIENT_CONFIG = "aws.clientconfig."
"""Beginning of properties of AWS' Java clients. Those without a counterpart in botocore are
accepted for Flink programs, without effect."""
_TIMEOUTS = {"connectiontimeout": "connect_timeout", "sockettimeout": "read_timeout"}
"""Names in botocore of time limits, which the Java clients have in ms."""
_WITHOUT_EFFECT = (
    "aws.credentials.provider",
    "aws.http.protocol.version",
    "aws.http-client.max-concurrency",
    "aws.http-client.read-timeout",
)
"""Accepted for Flink programs: which credentials count, botocore decides."""
_PASSING = frozenset(
    {
        "InternalFailure",
        "InternalFailureException",
        "KMSThrottlingException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "ThrottlingException",
    }
)
_CREDENTIALS = frozenset(
    {
        "AccessDeniedException",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    }
)


class KinesisError(ConnectorError):
    """Kinesis is not readable or writable, or is not configured as the job requires."""


@dataclass(frozen=True)
class AwsService:
    """One of the services of Kinesis.

    Attributes:
        name: botocore's.
        stream_kind: the service's word for a stream.
    """

    name: str
    stream_kind: str


KINESIS = AwsService("kinesis", "Kinesis stream")
FIREHOSE = AwsService("firehose", "Firehose delivery stream")


@dataclass(frozen=True)
class KinesisProperties:
    """Properties with Flink's names; the `repr` leaves out their values, since some are secret."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(properties: Any, more: Collection[str] = ()) -> KinesisProperties:
        """Properties with checked names.

        Args:
            more: allowed names in addition to those of clients.

        Raises:
            JobDefinitionError: they are no dict of texts, or a name is unknown.
        """
        if not isinstance(properties, Mapping):
            raise JobDefinitionError(f"Kinesis properties are a dict, not a {type(properties)}")
        known = {*_OF_CLIENTS, *_WITHOUT_EFFECT, *more}
        for name, value in properties.items():
            if name not in known and not str(name).startswith(_CLIENT_CONFIG):
                raise JobDefinitionError(
                    f"there is no Kinesis property {name!r}; the properties are "
                    f"{', '.join(sorted(known))}"
                )
            if not isinstance(value, (str, int, float)):
                raise JobDefinitionError(f"the Kinesis property {name} is a text or a number")
        return KinesisProperties({name: str(value) for name, value in properties.items()})

    def number(self, name: str, default: int) -> int:
        """A property that is a positive whole number.

        Raises:
            JobDefinitionError: the property is not a positive whole number.
        """
        text = self.values.get(name, str(default))
        if not text.isdecimal() or int(text) == 0:
            raise JobDefinitionError(f"the Kinesis property {name} must be a number, not {text!r}")
        return int(text)

    def client_config(self) -> dict[str, Any]:
        """Arguments of botocore's ``Config``.

        Raises:
            JobDefinitionError: a number is none.
        """
        settings: dict[str, Any] = {"connect_timeout": 10, "read_timeout": 20}
        attempts = 3
        for name in self.values:
            if not name.startswith(_CLIENT_CONFIG):
                continue
            match name.removeprefix(_CLIENT_CONFIG).lower():
                case "maxconnections":
                    settings["max_pool_connections"] = self.number(name, 10)
                case "maxerrorretry":
                    attempts = self.number(name, 3)
                case timeout if timeout in _TIMEOUTS:
                    settings[_TIMEOUTS[timeout]] = self.number(name, 1) / 1000
        return {**settings, "retries": {"mode": "standard", "max_attempts": attempts}}


def create_client(properties: KinesisProperties, service: AwsService = KINESIS) -> Any:
    """Create a client of botocore.

    Raises:
        KinesisError: botocore is not installed, or region or credentials are missing.
    """
    try:
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session
    except ImportError as error:
        raise KinesisError(
            missing_package("the Kinesis connector needs", "botocore", "kinesis", on_workers=True)
        ) from error
    values = properties.values
    try:
        session = Session(profile=values.get(_PROFILE))
        if _PROFILE_PATH in values:
            for variable in ("config_file", "credentials_file"):  # either form of file
                session.set_config_variable(variable, values[_PROFILE_PATH])
        if _KEY_ID not in values and session.get_credentials() is None:
            raise KinesisError(
                "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or "
                "AWS_PROFILE, or run where a role gives some"
            )
        return session.create_client(
            service.name,
            values.get(_REGION),
            endpoint_url=values.get(_ENDPOINT),
            aws_access_key_id=values.get(_KEY_ID),
            aws_secret_access_key=values.get(_SECRET),
            aws_session_token=values.get(_TOKEN),
            config=Config(**properties.client_config()),
        )
    except (BotoCoreError, ValueError) as error:
        raise KinesisError(
            f"no client of {service.name.title()} can be made: {error}; the region is the property "
            f"{_REGION} or the environment variable AWS_REGION"
        ) from error


def code_of(error: Exception) -> str:
    """The service's code of an error; empty if the service did not respond."""
    response = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))


def is_transient(error: Exception) -> bool:
    """Whether a repeated request may succeed, as after throttling or an outage of the service."""
    from botocore.exceptions import ConnectionError as ClientConnectionError
    from botocore.exceptions import HTTPClientError

    return code_of(error) in _PASSING or isinstance(error, (ClientConnectionError, HTTPClientError))


def explained(
    error: Exception, stream: str, doing: str, service: AwsService = KINESIS
) -> KinesisError:
    """Error that explains why a request about a stream was refused.

    Args:
        doing: such as ``read``.
    """
    code = code_of(error)
    said = str(getattr(error, "response", {}).get("Error", {}).get("Message", "") or error)
    if code == "ResourceNotFoundException":
        return KinesisError(
            f"cannot {doing} the {service.stream_kind} '{stream}': there is no such stream in this "
            f"account and region ({said})"
        )
    if code in _CREDENTIALS:
        return KinesisError(
            f"cannot {doing} the {service.stream_kind} '{stream}': AWS refuses the "
            f"credentials, or they lack the permission ({code})"
        )
    return KinesisError(f"cannot {doing} the {service.stream_kind} '{stream}': {code} {said}")
