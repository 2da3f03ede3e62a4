/** Whether the user is on call, who is next, and the user's next shifts, which can be given away. */
import { Anchor, Group, Stack, Text } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { api, take } from '../../api.ts';
import type { OnCall } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { Section } from '../../components/page.tsx';
import { clockAndDay, clockAndDays } from '../../components/time.tsx';
import { to, useOrg } from '../../paths.ts';
import { combine, read } from '../../queries.ts';
import { texts } from '../../texts/pager.ts';
import { NewOverride, type OverrideDraft } from '../schedules/overrides.tsx';
import { namesOf } from '../schedules/people.ts';

/** Schedules that name the user. */
const maxOwn = 50;
/** Others are on the page of schedules. */
const maxOthers = 10;
const maxShifts = 5;
const aheadMs = 14 * 86_400_000;
/** How far ahead shifts are read, so that those of a month that begin within these days have their ends. */
const readMs = aheadMs + 31 * 86_400_000;
const refreshMs = 60_000;

const isOf = (username: string | null) => (one: { users: readonly { username: string }[] }) =>
  one.users.some(user => user.username === username);

/** The API cuts shifts off at the ends of the time that was asked for. */
function timesOf({ schedule, from, until }: OwnShift): string {
  if (Date.parse(from) > Date.now()) return clockAndDays(from, until);
  return schedule.until === null ? texts.endlessShift : texts.currentShift(clockAndDay(until));
}

/** A schedule, with what its dialog is filled with. */
interface Handover {
  schedule: OnCall;
  draft: OverrideDraft;
}

export function Duty({ username }: { username: string | null }) {
  const org = useOrg();
  const [handover, setHandover] = useState<Handover>();
  const readSchedules = (query: { user?: string; limit: number }) => ({
    ...read('/api/o/{org}/on-call/', { path: { org }, query }),
    refetchInterval: refreshMs,
  });
  const { data: schedules } = useQuery(readSchedules({ limit: maxOthers }));
  const { data: answer } = useQuery({
    ...readSchedules({ user: username ?? '', limit: maxOwn }),
    enabled: username !== null,
  });
  const named = username === null ? [] : answer;
  const shifts = useOwnShifts(org, named ?? [], username);
  if (!schedules || !named) return null;
  const own = named.filter(isOf(username));
  const others = schedules.filter(({ id }) => !own.some(one => one.id === id));
  const all = (
    <Anchor component={Link} to={to.schedules(org)} size="sm">
      {texts.moreSchedules}
    </Anchor>
  );
  return (
    <Section title={texts.duty} aside={all}>
      <Stack gap="sm">
        {schedules.length === 0 && <Text size="sm">{texts.noSchedules}</Text>}
        {schedules.length > 0 && own.length === 0 && <Text fw={600}>{texts.notOnCall}</Text>}
        {own.map(({ id, name, until, next }) => (
          <div key={id}>
            <Text fw={600} c="var(--accent)">
              {until ? texts.onCallUntil(name, clockAndDay(until)) : texts.onCall(name)}
            </Text>
            {next && (
              <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {texts.nextIs(namesOf(next.users), clockAndDay(next.from))}
              </Text>
            )}
          </div>
        ))}
        {username !== null && schedules.length > 0 && (
          <Stack gap={6} component="section" aria-label={texts.myShifts}>
            <Text size="sm" c="dimmed">
              {shifts.length === 0 ? texts.noShifts : texts.myShifts}
            </Text>
            {shifts.map(({ schedule, from, until }) => (
              <Group key={`${schedule.id} ${from}`} justify="space-between" gap="xs">
                <Text size="sm" flex="1 1 180px" miw={0}>
                  <Text component="span" inherit display="block" fw={500}>
                    {schedule.name}
                  </Text>
                  {timesOf({ schedule, from, until })}
                </Text>
                <GuardedButton
                  permission="schedule:override"
                  size="xs"
                  variant="default"
                  aria-label={texts.giveShift(schedule.name, clockAndDay(from))}
                  onClick={() =>
                    setHandover({ schedule, draft: { replaces: username, starts_at: from, ends_at: until } })
                  }
                >
                  {texts.give}
                </GuardedButton>
              </Group>
            ))}
          </Stack>
        )}
        {others.length > 0 && (
          <Stack gap={6} component="section" aria-label={texts.others}>
            <Text size="sm" c="dimmed">
              {texts.others}
            </Text>
            {others.map(schedule => (
              <Group key={schedule.id} justify="space-between" gap="xs">
                <Text size="sm" flex="1 1 180px" miw={0} style={{ overflowWrap: 'anywhere' }}>
                  <Text component="span" inherit display="block" fw={500}>
                    {schedule.name}
                  </Text>
                  {schedule.until
                    ? texts.nowUntil(namesOf(schedule.users), clockAndDay(schedule.until))
                    : namesOf(schedule.users)}
                </Text>
                {username !== null && (
                  <GuardedButton
                    permission="schedule:override"
                    size="xs"
                    variant="default"
                    aria-label={texts.takeFrom(schedule.name)}
                    onClick={() => setHandover({ schedule, draft: { user: username, ends_at: schedule.until } })}
                  >
                    {texts.take}
                  </GuardedButton>
                )}
              </Group>
            ))}
          </Stack>
        )}
      </Stack>
      {handover && (
        <NewOverride
          path={{ org, prj: handover.schedule.project, schedule: handover.schedule.schedule }}
          users={handover.schedule.users.map(user => user.username)}
          draft={handover.draft}
          close={() => setHandover(undefined)}
        />
      )}
    </Section>
  );
}

interface OwnShift {
  schedule: OnCall;
  from: string;
  until: string;
}

/** Returns the user's current and next shifts, soonest first. */
function useOwnShifts(org: string, schedules: readonly OnCall[], username: string | null): OwnShift[] {
  const path = '/api/o/{org}/p/{prj}/schedules/{schedule}/shifts/' as const;
  const answers = useQueries({
    queries: (username === null ? [] : schedules).map(({ project: prj, schedule }) => ({
      ...combine('next', path, { org, prj, schedule }, signal => {
        const now = Date.now();
        const query = { since: new Date(now).toISOString(), until: new Date(now + readMs).toISOString() };
        return take(api.GET(path, { params: { path: { org, prj, schedule }, query }, signal }));
      }),
      refetchInterval: refreshMs,
    })),
  });
  return answers
    .flatMap(({ data = [] }, i) =>
      data
        .filter(isOf(username))
        .filter(({ from }) => Date.parse(String(from)) < Date.now() + aheadMs)
        .map(({ from, until }) => ({ schedule: schedules[i]!, from: String(from), until: String(until) })),
    )
    .sort((a, b) => Date.parse(a.from) - Date.parse(b.from))
    .slice(0, maxShifts);
}
