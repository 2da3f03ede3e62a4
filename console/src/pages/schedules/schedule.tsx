/** One schedule: who is on call, its calendar, its overrides and its layers. */
import { Alert, Grid, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { api, take } from '../../api.ts';
import type { NewSchedule } from '../../api-types.ts';
import { CopyText } from '../../components/copy.tsx';
import { Deletion } from '../../components/deletion.tsx';
import { Facts } from '../../components/facts.tsx';
import { MoreMenu } from '../../components/more-menu.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Pending, pendingPage } from '../../components/pending.tsx';
import { clockAndDay } from '../../components/time.tsx';
import { useEditable } from '../../components/use-editable.ts';
import { liveMs } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { read, readTagged } from '../../queries.ts';
import { texts } from '../../texts/schedules.ts';
import { Calendar } from './calendar.tsx';
import { Gaps } from './gaps.tsx';
import { FollowingGroups } from './groups.tsx';
import { Overrides } from './overrides.tsx';
import { PageNow } from './page-now.tsx';
import { namesOf } from './people.ts';
import { ScheduleForm } from './schedule-form.tsx';
import { Swaps } from './swaps.tsx';

function useSchedulePath() {
  const { prj = '', schedule = '' } = useParams();
  return { org: useOrg(), prj, schedule };
}

export default function Schedule() {
  const path = useSchedulePath();
  /** What the form has, as long as it differs from what is stored. */
  const [draft, setDraft] = useState<NewSchedule>();
  const { query, filled, refill } = useEditable(readTagged('/api/o/{org}/p/{prj}/schedules/{schedule}/', { path }));
  const { data } = query;
  const parents = [{ label: texts.schedules, to: to.schedules(path.org) }];
  if (!data) return pendingPage(path.schedule, parents, query);
  const { value, etag } = data;
  const users = [...new Set(value.layers.flatMap(layer => layer.users.flat()))].sort();
  return (
    <Page
      title={value.name}
      parents={parents}
      description={<CopyText value={path.schedule} label={texts.copySlug} />}
      actions={
        <>
          {value.page !== null && <PageNow path={path} />}
          <Actions name={value.name} />
        </>
      }
    >
      <Grid>
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Stack gap="md">
            <Section title={texts.onCall}>
              <Now />
            </Section>
            <Gaps of={{ project: path.prj, schedule: path.schedule }} />
            {value.groups !== null && <FollowingGroups path={path} />}
            <Calendar path={path} timezone={draft?.timezone ?? value.timezone} users={users} draft={draft} />
            <Overrides path={path} users={users} />
            <Swaps path={path} users={users} />
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Section title={texts.settings}>
            <ScheduleForm
              key={`${path.schedule} ${filled}`}
              path={path}
              schedule={value}
              etag={etag}
              setDraft={setDraft}
              refill={refill}
            />
          </Section>
        </Grid.Col>
      </Grid>
    </Page>
  );
}

function Now() {
  const path = useSchedulePath();
  const { data, error, refetch } = useQuery({
    ...read('/api/o/{org}/p/{prj}/schedules/{schedule}/on-call/', { path }),
    refetchInterval: liveMs,
  });
  if (!data) return <Pending query={{ error, refetch }} />;
  const { users, until, next, fallback, announcement_error } = data;
  const gap = fallback === null ? texts.nextStep : texts.fallsBack(fallback);
  return (
    <>
      {announcement_error !== null && (
        <Alert color="red" mb="sm" title={texts.notAnnounced}>
          {announcement_error}
        </Alert>
      )}
      <Facts
        facts={[
          [texts.now, users.length > 0 ? namesOf(users) : `${texts.noOne}. ${gap}`],
          [texts.until, until === null ? texts.doesNotChange : clockAndDay(String(until))],
          [texts.next, next ? texts.fromThen(namesOf(next.users), clockAndDay(String(next.from))) : texts.noOne],
        ]}
      />
    </>
  );
}

function Actions({ name }: { name: string }) {
  const path = useSchedulePath();
  const navigate = useNavigate();
  const [deleting, setDeleting] = useState(false);
  return (
    <>
      <MoreMenu permission="schedule:write" onDelete={() => setDeleting(true)} />
      <Deletion
        opened={deleting}
        onClose={() => setDeleting(false)}
        what={texts.theSchedule(name)}
        run={({ dryRun }) =>
          take(
            api.DELETE('/api/o/{org}/p/{prj}/schedules/{schedule}/', {
              params: { path, query: dryRun ? { dry_run: true } : {} },
            }),
          )
        }
        refresh={['/api/o/{org}/on-call/', '/api/o/{org}/p/{prj}/schedules/']}
        leaves
        onDeleted={() => void navigate(to.schedules(path.org))}
      >
        {texts.deletionHint}
      </Deletion>
    </>
  );
}
