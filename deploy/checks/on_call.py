"""Decides who is on call, from the definition alone: an independent second implementation that the check `on-call` compares.

Reads cases as JSON from the standard input and prints the users of each instant. Nothing is clever here: turns are counted one by
one, and times are converted by zoneinfo.
"""

import calendar
import json
import re
import sys
from datetime import datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo

DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def local_of(instant, zone):
    return (EPOCH + timedelta(seconds=instant)).astimezone(zone).replace(tzinfo=None)


@cache
def instant_of(local, zone):
    """The first instant at which the clock shows the time; of a time that it skips, the moment of the change."""
    folds = [round((local.replace(tzinfo=zone, fold=fold) - EPOCH).total_seconds()) for fold in (0, 1)]
    valid = [instant for instant in folds if local_of(instant, zone) == local]
    if valid:
        return min(valid)
    low, high = min(folds) - 90_000, max(folds) + 90_000
    while high - low > 1:
        middle = (low + high) // 2
        if local_of(middle, zone) > local:
            high = middle
        else:
            low = middle
    return high


@cache
def start_of_turn(begin, every, n, zone):
    first = datetime.fromisoformat(begin)
    count, unit = re.fullmatch(r"(\d+)(h|d|w|mo)", every).groups()
    count = int(count) * n
    if unit == "h":
        return instant_of(first, zone) + count * 3600
    if unit == "mo":
        year, month = divmod(first.year * 12 + first.month - 1 + count, 12)
        day = min(first.day, calendar.monthrange(year, month + 1)[1])
        return instant_of(first.replace(year=year, month=month + 1, day=day), zone)
    return instant_of(first + timedelta(days=count * (7 if unit == "w" else 1)), zone)


def is_inside(window, instant, zone):
    today = local_of(instant, zone).replace(hour=0, minute=0, second=0, microsecond=0)

    def time(text):
        hours, minutes = text.split(":")
        return timedelta(hours=int(hours), minutes=int(minutes))

    begin, end = time(window["from"]), time(window["until"])
    if end <= begin:
        end += timedelta(days=1)
    for offset in range(-3, 4):
        day = today + timedelta(days=offset)
        if DAYS[day.weekday()] not in window.get("days", DAYS):
            continue
        if instant_of(day + begin, zone) <= instant < instant_of(day + end, zone):
            return True
    return False


def users_of_layer(layer, instant, zone):
    if instant < start_of_turn(layer["from"], layer["every"], 0, zone):
        return None
    if "until" in layer and instant >= instant_of(datetime.fromisoformat(layer["until"]), zone):
        return None
    if "only" in layer and not any(is_inside(window, instant, zone) for window in layer["only"]):
        return None
    n = 0
    while start_of_turn(layer["from"], layer["every"], n + 1, zone) <= instant:
        n += 1
    users = layer["users"][n % len(layer["users"])]
    return [users] if isinstance(users, str) else users


def who_is_on_call(schedule, instant):
    zone = ZoneInfo(schedule["timezone"])
    found = [users_of_layer(layer, instant, zone) for layer in schedule["layers"]]
    found = [users for users in found if users is not None]
    if schedule["combine"] == "cover":
        found = found[-1:]
    users = list(dict.fromkeys(user for some in found for user in some))
    for override in sorted(schedule["overrides"], key=lambda each: each["id"]):
        if not override["from"] <= instant < override["until"]:
            continue
        if override["replaces"] is None:
            users = [override["user"]]
        elif override["replaces"] in users:
            users = list(dict.fromkeys(override["user"] if user == override["replaces"] else user for user in users))
    return users


for schedule in json.load(sys.stdin):
    print(json.dumps([who_is_on_call(schedule, instant) for instant in schedule["instants"]]))
