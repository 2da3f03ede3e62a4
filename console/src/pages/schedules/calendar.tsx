/** The shifts of a schedule by week, month or as a list, as stored or as they would be with unsaved changes. */
import { ActionIcon, Box, Button, Group, SegmentedControl, Text } from '@mantine/core';
import { useDebouncedValue, useMediaQuery } from '@mantine/hooks';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useState } from 'react';
import { api, take } from '../../api.ts';
import type { NewSchedule, Shift } from '../../api-types.ts';
import { Section } from '../../components/page.tsx';
import { Failure, Loading } from '../../components/states.tsx';
import { Subscribe } from '../../components/subscribe.tsx';
import { ask, read } from '../../queries.ts';
import { texts } from '../../texts/schedules.ts';
import { Agenda } from './agenda.tsx';
import {
  type CalendarDate,
  colorsOf,
  type Day,
  dateOf,
  daysOf,
  formatDay,
  formatMonth,
  moveBy,
  type View,
  viewerZone,
  views,
} from './calendar-days.ts';
import { Collisions } from './collisions.tsx';
import { Month } from './month.tsx';
import { Week } from './week.tsx';

export interface CalendarProps {
  days: readonly Day[];
  shifts: readonly Shift[];
  timeZone: string;
  colorOf: (shift: Shift) => string;
}

interface SchedulePath {
  org: string;
  prj: string;
  schedule: string;
}

const typingMs = 400;

interface Props {
  path: SchedulePath;
  timezone: string;
  users: readonly string[];
  draft: NewSchedule | undefined;
}

export function Calendar({ path, timezone, users, draft }: Props) {
  const isPhone = useMediaQuery('(max-width: 36em)') ?? false;
  const [chosen, setView] = useState<View>();
  const view = chosen ?? (isPhone ? 'agenda' : 'week');
  const [isOfSchedule, setIsOfSchedule] = useState(false);
  const timeZone = isOfSchedule ? timezone : viewerZone;
  const [moved, setDate] = useState<CalendarDate>();
  const date = moved ?? dateOf(Date.now(), timeZone);
  const days = daysOf(view, date, timeZone);
  const { shifts, isPreview, error, retry } = useShifts(path, days, draft);
  const move = (by: 1 | -1) => setDate(moveBy(view, date, by));
  const onKeyDown = (event: KeyboardEvent) => {
    // The arrows choose a view, or a time zone, while these have the focus.
    if ((event.target as HTMLElement).tagName === 'INPUT' || event.metaKey || event.ctrlKey || event.altKey) return;
    const action = { ArrowLeft: () => move(-1), ArrowRight: () => move(1), Home: () => setDate(undefined) }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
  const props = { days, shifts: shifts ?? [], timeZone, colorOf: colorsOf(users, shifts ?? []) };
  return (
    <Section
      title={texts.calendar}
      aside={
        <SegmentedControl
          size="xs"
          aria-label={texts.view}
          value={view}
          onChange={value => setView(value as View)}
          data={views.map(value => ({ value, label: texts.views[value]! }))}
        />
      }
    >
      <fieldset className="calendar" aria-label={texts.calendar} onKeyDown={onKeyDown}>
        <Group gap={6} mb="xs">
          <ActionIcon variant="default" size="sm" aria-label={texts.previous[view]} onClick={() => move(-1)}>
            <IconChevronLeft size={14} />
          </ActionIcon>
          <Button variant="default" size="compact-xs" onClick={() => setDate(undefined)}>
            {texts.today}
          </Button>
          <ActionIcon variant="default" size="sm" aria-label={texts.following[view]} onClick={() => move(1)}>
            <IconChevronRight size={14} />
          </ActionIcon>
          <Text size="sm" fw={500} role="status" ml={4}>
            {view === 'week'
              ? texts.weekOf(formatDay(days[0]!.date))
              : view === 'month'
                ? formatMonth(date)
                : texts.daysShown(formatDay(days[0]!.date), formatDay(days.at(-1)!.date))}
          </Text>
          {timezone !== viewerZone && (
            <SegmentedControl
              size="xs"
              ml="auto"
              aria-label={texts.timezone}
              value={isOfSchedule ? timezone : viewerZone}
              onChange={value => setIsOfSchedule(value === timezone)}
              data={[viewerZone, timezone]}
            />
          )}
        </Group>
        {!shifts ? (
          error ? (
            <Failure error={error} retry={retry} />
          ) : (
            <Loading />
          )
        ) : view === 'week' ? (
          <Week {...props} />
        ) : view === 'agenda' ? (
          <Agenda {...props} />
        ) : (
          <Month
            {...props}
            date={date}
            showWeek={day => {
              setDate(day);
              setView('week');
            }}
          />
        )}
      </fieldset>
      {shifts && <Collisions shifts={shifts} />}
      <Text size="xs" c="dimmed" mt="xs">
        {[
          timezone === viewerZone ? texts.yourTimes : texts.timesIn(timeZone),
          shifts?.some(({ overrides }) => overrides.length > 0) && texts.overridesStriped,
          isPreview && texts.unsavedWeek,
        ]
          .filter(Boolean)
          .join(' · ')}
      </Text>
      <Box mt="sm">
        <Subscribe
          read={() => take(api.GET('/api/o/{org}/p/{prj}/schedules/{schedule}/calendar/', { params: { path } }))}
          rotate={() =>
            take(api.POST('/api/o/{org}/p/{prj}/schedules/{schedule}/calendar/rotate/', { params: { path } }))
          }
          permission="schedule:write"
        />
      </Box>
    </Section>
  );
}

function useShifts(path: SchedulePath, days: readonly Day[], draft: NewSchedule | undefined) {
  const span = { since: new Date(days[0]!.begin).toISOString(), until: new Date(days.at(-1)!.end).toISOString() };
  const stored = useQuery({
    ...read('/api/o/{org}/p/{prj}/schedules/{schedule}/shifts/', { path, query: span }),
    placeholderData: keepPreviousData,
  });
  const [body] = useDebouncedValue(draft && JSON.stringify({ ...span, schedule: draft }), typingMs);
  const { org, prj } = path;
  const preview = useQuery({
    ...ask('/api/o/{org}/p/{prj}/shifts/preview/', { org, prj, body }, signal => {
      const params = { path: { org, prj } };
      return take(api.POST('/api/o/{org}/p/{prj}/shifts/preview/', { params, body: JSON.parse(body!), signal }));
    }),
    enabled: draft !== undefined && body !== undefined,
    retry: false,
  });
  const isPreview = draft !== undefined && preview.data !== undefined;
  const shifts: readonly Shift[] | undefined = isPreview ? preview.data : stored.data;
  return { shifts, isPreview, error: stored.error, retry: () => void stored.refetch() };
}
