/** The shifts of a week, a line for each day. */
import { Box, Text } from '@mantine/core';
import { texts } from '../../texts/schedules.ts';
import type { CalendarProps } from './calendar.tsx';
import { formatDay, formatsOf, partsOf } from './calendar-days.ts';
import { namesOf } from './people.ts';

export function Week({ days, shifts, timeZone, colorOf }: CalendarProps) {
  const { clock, endClock } = formatsOf(timeZone);
  const now = Date.now();
  return (
    <Box component="ol" className="week" aria-label={texts.week}>
      {days.map(day => {
        const { date, begin, end } = day;
        const share = (ms: number) => `${(ms / (end - begin)) * 100}%`;
        const isToday = begin <= now && now < end;
        return (
          <li key={date} aria-current={isToday ? 'date' : undefined}>
            <Text component="span" size="xs" c="dimmed" className="numbers">
              {formatDay(date)}
            </Text>
            <ol>
              {partsOf(day, shifts).map(({ shift, from, until }) => {
                const names = namesOf(shift.users);
                const isOverride = shift.overrides.length > 0;
                const label = texts.shift(names, clock(from), endClock(until, day), isOverride);
                return (
                  <li
                    key={from}
                    className="shift"
                    data-color={colorOf(shift)}
                    data-override={isOverride || undefined}
                    aria-label={label}
                    title={label}
                    style={{ insetInlineStart: share(from - begin), width: share(until - from) }}
                  >
                    <span aria-hidden>{names}</span>
                  </li>
                );
              })}
              {isToday && (
                <li className="now" aria-hidden role="presentation" style={{ insetInlineStart: share(now - begin) }} />
              )}
            </ol>
          </li>
        );
      })}
    </Box>
  );
}
