/** The shifts of a month, in weeks from Monday. */
import { Box, UnstyledButton } from '@mantine/core';
import { texts } from '../../texts/schedules.ts';
import type { CalendarProps } from './calendar.tsx';
import {
  type CalendarDate,
  formatDay,
  formatDayOfMonth,
  formatsOf,
  formatWeekday,
  isInMonth,
  partsOf,
} from './calendar-days.ts';
import { ShiftPart } from './shift-part.tsx';

/** Shifts of a day that are shown; the week has all. */
const maxParts = 4;

interface Props extends CalendarProps {
  date: CalendarDate;
  showWeek: (date: CalendarDate) => void;
}

export function Month({ days, shifts, timeZone, colorOf, date, showWeek }: Props) {
  const formats = formatsOf(timeZone);
  const now = Date.now();
  return (
    <Box className="month">
      <div className="month-head" aria-hidden>
        {days.slice(0, 7).map(day => (
          <span key={day.date} className="month-weekday">
            {formatWeekday(day.date)}
          </span>
        ))}
      </div>
      <ol aria-label={texts.month} className="month-days">
        {days.map(day => {
          const parts = partsOf(day, shifts);
          return (
            <li
              key={day.date}
              className="month-day"
              aria-label={formatDay(day.date)}
              aria-current={day.begin <= now && now < day.end ? 'date' : undefined}
              data-outside={!isInMonth(day.date, date) || undefined}
            >
              <span className="month-number numbers" aria-hidden>
                {formatDayOfMonth(day.date)}
              </span>
              <ol>
                {parts.slice(0, maxParts).map(part => (
                  <ShiftPart key={part.from} part={part} day={day} formats={formats} color={colorOf(part.shift)}>
                    {part.from > day.begin && <span className="clock numbers">{formats.clock(part.from)} </span>}
                  </ShiftPart>
                ))}
              </ol>
              {parts.length > maxParts && (
                <UnstyledButton className="more" onClick={() => showWeek(day.date)}>
                  {texts.moreShifts(parts.length - maxParts)}
                </UnstyledButton>
              )}
            </li>
          );
        })}
      </ol>
    </Box>
  );
}
