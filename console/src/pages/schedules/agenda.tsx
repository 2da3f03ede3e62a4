/** The shifts of two weeks one below the other, for narrow screens. */
import { Box, Group, Text } from '@mantine/core';
import { Mark } from '../../components/mark.tsx';
import { texts } from '../../texts/schedules.ts';
import type { CalendarProps } from './calendar.tsx';
import { formatsOf } from './calendar-days.ts';
import { namesOf } from './people.ts';

export function Agenda({ days, shifts, timeZone, colorOf }: CalendarProps) {
  const { moment } = formatsOf(timeZone);
  const [first, last] = [days[0]!.begin, days.at(-1)!.end];
  const now = Date.now();
  return (
    <Box component="ol" className="agenda" aria-label={texts.agenda}>
      {shifts.map(shift => {
        const [from, until] = [Date.parse(String(shift.from)), Date.parse(String(shift.until))];
        const isNow = from <= now && now < until;
        return (
          <li key={from} className="agenda-shift" aria-current={isNow ? 'time' : undefined}>
            <span
              className="shift"
              aria-hidden
              data-color={colorOf(shift)}
              data-override={shift.overrides.length > 0 || undefined}
            />
            <div>
              <Text component="span" size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
                {namesOf(shift.users)}
              </Text>
              <Text component="span" size="xs" c="dimmed" display="block" className="numbers">
                {/* The API cuts shifts off at the ends of the time that is shown. */}
                {from > first ? moment(from) : '…'} – {until < last ? moment(until) : '…'}
              </Text>
            </div>
            <Group gap={6} className="agenda-marks">
              {isNow && <Mark color="teal">{texts.now}</Mark>}
              {shift.overrides.length > 0 && <Mark color="violet">{texts.override}</Mark>}
            </Group>
          </li>
        );
      })}
    </Box>
  );
}
