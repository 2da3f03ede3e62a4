/** The part of a shift that falls into one day of the calendar. */
import type { CSSProperties, ReactNode } from 'react';
import { texts } from '../../texts/schedules.ts';
import type { Day, formatsOf, Part } from './calendar-days.ts';
import { namesOf } from './people.ts';

interface ShiftPartProps {
  part: Part;
  day: Day;
  formats: ReturnType<typeof formatsOf>;
  color: string;
  style?: CSSProperties;
  /** Shown before the names. */
  children?: ReactNode;
}

export function ShiftPart({ part: { shift, from, until }, day, formats, color, style, children }: ShiftPartProps) {
  const names = namesOf(shift.users);
  const isOverride = shift.overrides.length > 0;
  const label = texts.shift(names, formats.clock(from), formats.endClock(until, day), isOverride);
  return (
    <li
      className="shift"
      data-color={color}
      data-override={isOverride || undefined}
      aria-label={label}
      title={label}
      style={style}
    >
      <span aria-hidden>
        {children}
        {names}
      </span>
    </li>
  );
}
