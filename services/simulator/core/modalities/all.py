"""The modalities of a new world, by name, in the order in which they are shown."""

from collections.abc import Callable, Mapping
from datetime import datetime

from services.simulator.core.modalities.calendar import CalendarModality
from services.simulator.core.modalities.chat import ChatModality
from services.simulator.core.modalities.contacts import ContactsModality
from services.simulator.core.modalities.email import EmailModality
from services.simulator.core.modalities.location import LocationModality
from services.simulator.core.modalities.sms import SmsModality
from services.simulator.core.modalities.weather import WeatherModality
from services.simulator.core.modality import Modality

MODALITIES: Mapping[str, Callable[[datetime], Modality]] = {
    EmailModality.name: EmailModality,
    SmsModality.name: SmsModality,
    ChatModality.name: ChatModality,
    CalendarModality.name: CalendarModality,
    ContactsModality.name: ContactsModality,
    LocationModality.name: LocationModality,
    WeatherModality.name: WeatherModality,
}
