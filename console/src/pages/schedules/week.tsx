/** The shifts of a week, a line for each day. */
import { Box, Text } from '@mantine/core';
import { texts } from '../../texts/schedules.ts';
import type { CalendarProps } from './calendar.tsx';
import { formatDay, formatsOf, partsOf } from './calendar-days.ts';
import { ShiftPart } from './shift-part.tsx';

export function Week({ days, shifts, timeZone, colorOf }: CalendarProps) {
  const formats = formatsOf(timeZone);
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
              {partsOf(day, shifts).map(part => (
                <ShiftPart
                  key={part.from}
                  part={part}
                  day={day}
                  formats={formats}
                  color={colorOf(part.shift)}
                  style={{ insetInlineStart: share(part.from - begin), width: share(part.until - part.from) }}
                />
              ))}
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
