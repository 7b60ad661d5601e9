"""Brokers by their locators: the libraries that speak to them are loaded here, when one is asked for."""

from gamewarden.core.extras import need
from gamewarden.errors import ConfigError
from gamewarden.online.brokers.broker import Broker, Publisher
from gamewarden.online.brokers.locators import Locator


def broker_of(locator: Locator, worker: tuple[int, int] | None) -> Broker:
    """The topic that a worker reads; `worker` is its number of so many, where nobody shares partitions out.

    Raises:
        ConfigError: a worker's number is given where a group shares out.
        InstallError: a library is missing.
        ReadError: the broker cannot be reached, or has no such topic.
    """
    if locator.kind == "kafka":
        if worker is not None:
            raise ConfigError(f"{locator}: Kafka's group shares partitions out by itself; leave --worker out")
        need(f"watch {locator}", "confluent_kafka")
        from gamewarden.online.brokers.kafka import KafkaTopic

        return KafkaTopic(locator)
    need(f"watch {locator}", "nats")
    from gamewarden.online.brokers.nats import NatsStream

    return NatsStream(locator, worker or (1, 1))


def publisher_of(locator: Locator, partitions: int | None) -> Publisher:
    """The topic that rows are sent to, with so many partitions where it has to be made.

    Raises:
        InstallError: a library is missing.
        ReadError: the broker cannot be reached.
        WriteError: the topic is not there or has another number of partitions.
    """
    if locator.kind == "kafka":
        need(f"publish to {locator}", "confluent_kafka")
        from gamewarden.online.brokers.kafka import KafkaPublisher

        return KafkaPublisher(locator, partitions)
    need(f"publish to {locator}", "nats")
    from gamewarden.online.brokers.nats import NatsPublisher

    return NatsPublisher(locator, partitions)
