/** One occurrence: progress, deliveries, and why a user got no message. */
import { Alert, Anchor, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import {
  IconArrowBackUp,
  IconBellOff,
  IconBolt,
  IconCircleCheck,
  IconHandStop,
  IconPlayerStop,
  IconRefresh,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from 'react-router';
import { api, take } from '../../api.ts';
import { HoldSection } from '../../approvals/hold-section.tsx';
import { GuardedButton } from '../../components/actions.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import { CopyText } from '../../components/copy.tsx';
import { CountsBar, CountsLegend, count, totalOf } from '../../components/counts.tsx';
import { EventPath } from '../../components/event-path.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { Page, Section } from '../../components/page.tsx';
import { pendingPage } from '../../components/pending.tsx';
import { SnoozeMenu } from '../../components/snooze-menu.tsx';
import { OccurrenceBadge, occurrenceSentence } from '../../components/status.tsx';
import { exactTime, TimeAgo } from '../../components/time.tsx';
import { liveMs } from '../../components/use-list.ts';
import { useResponses } from '../../components/use-responses.ts';
import { rememberSample } from '../../events/sample.ts';
import { linkToEvent, to, useOrg } from '../../paths.ts';
import { PauseBanners } from '../../pauses/pause-banner.tsx';
import { useOccurrencePauses } from '../../pauses/use-pauses.ts';
import { type PathPrefix, read } from '../../queries.ts';
import { useReplay } from '../../replay/use-replay.tsx';
import { texts } from '../../texts/occurrences.ts';
import { texts as responses } from '../../texts/responses.ts';
import { matchersOf, showMatcher } from '../silences/matchers.ts';
import { Alerts } from './alerts.tsx';
import { Attachments } from './attachments.tsx';
import { Deliveries } from './deliveries.tsx';
import { ReportedBack } from './source-updates.tsx';
import { Steps } from './steps.tsx';
import { OccurrenceTimeline } from './timeline.tsx';
import { WhyNot } from './why-not.tsx';

const noCounts = { pending: 0, sent: 0, failed: 0, suppressed: 0, cancelled: 0, expired: 0, unknown: 0 };

export default function OccurrencePage() {
  const org = useOrg();
  const navigate = useNavigate();
  const { identifier = '' } = useParams();
  const path = { org, identifier };
  const { data, error, refetch } = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/', { path }),
    // A completed occurrence only changes by a replay, which refreshes it itself.
    refetchInterval: query => (query.state.data?.status === 'completed' ? liveMs * 5 : liveMs / 2),
  });
  const refresh: PathPrefix[] = ['/api/o/{org}/occurrence/'];
  const cancel = useConfirmedAction({
    question: { title: texts.cancelQuestion, children: texts.cancelHint, action: texts.cancelOccurrence, danger: true },
    run: () => take(api.POST('/api/o/{org}/occurrence/{identifier}/cancel/', { params: { path } })),
    done: ({ cancelled, sending }) =>
      [texts.cancelledDeliveries(cancelled), ...(sending > 0 ? [texts.mayStillArrive(count(sending))] : [])].join(' '),
    refresh,
  });
  const replay = useReplay({ identifier, counts: data?.counts ?? noCounts });
  const pauses = useOccurrencePauses(identifier, data !== undefined && data.status !== 'completed');

  const { acknowledge, unacknowledge, resolve } = useResponses(identifier);

  const parents = [{ label: texts.occurrences, to: to.occurrences(org) }];
  if (!data) return pendingPage(texts.occurrence, parents, { error, refetch });
  const { counts, status } = data;
  const total = totalOf(counts);
  const again = counts.failed + counts.unknown;
  const open = counts.pending;
  const isEscalation =
    ['escalating', 'unacknowledged', 'acknowledged'].includes(data.outcome) || data.dedup_key !== null;
  const name = data.title || (data.event ?? texts.deletedEvent);
  const eventPage = data.event && linkToEvent(org, data.event);
  // Opens the event's page with the same context, where it can be changed and simulated first.
  const triggerAgain = () => {
    const [prj = '', app = '', evt = ''] = (data.event ?? '').split('/');
    rememberSample({ org, prj, app, evt }, data.context);
    const recipients = Array.isArray(data.options.recipients) ? (data.options.recipients as string[]) : [];
    const query = new URLSearchParams(recipients.map(each => ['recipient', each]));
    void navigate(`${eventPage}${query.size > 0 ? `?${query}` : ''}`);
  };
  const silence = () => {
    const matchers = matchersOf(data.context).map(matcher => ['match', showMatcher(matcher)]);
    void navigate(to.silences(org, [...matchers, ['within', data.event ?? '']]));
  };

  return (
    <Page
      wide
      title={name}
      documentTitle={`${name} · ${identifier.slice(-8)}`}
      parents={parents}
      aside={<OccurrenceBadge occurrence={data} />}
      description={
        <Group gap="2px 16px">
          <CopyText value={identifier} label={texts.copyIdentifier} />
          <span>
            <TimeAgo at={data.created_at} text={texts.triggeredAt} />
          </span>
          {data.correlation_id && (
            <span>
              {texts.correlationId} <CopyText value={data.correlation_id} label={texts.copyCorrelationId} />
            </span>
          )}
          {data.trace_id && (
            <span>
              {texts.traceId} <CopyText value={data.trace_id} label={texts.copyTraceId} />
            </span>
          )}
          {eventPage && (
            <Anchor component={Link} to={eventPage} inherit>
              {data.title ? <EventPath path={data.event} /> : texts.event}
            </Anchor>
          )}
        </Group>
      }
      actions={
        <>
          {eventPage && (
            <GuardedButton
              permission="event:trigger"
              variant="default"
              leftSection={<IconBolt size={14} stroke={1.6} />}
              onClick={() => triggerAgain()}
            >
              {texts.triggerAgainWithThisContext}
            </GuardedButton>
          )}
          {isEscalation && (!data.acknowledged_at || data.snoozed_by) && !data.resolved_at && (
            <GuardedButton
              permission="occurrence:write"
              leftSection={<IconHandStop size={14} stroke={1.6} />}
              loading={acknowledge.isPending}
              onClick={() => acknowledge.mutate(undefined)}
            >
              {responses.acknowledge}
            </GuardedButton>
          )}
          {isEscalation && !data.resolved_at && <SnoozeMenu identifier={identifier} />}
          {data.acknowledged_at && !data.resolved_at && (
            <GuardedButton
              permission="occurrence:write"
              variant="default"
              leftSection={<IconArrowBackUp size={14} stroke={1.6} />}
              loading={unacknowledge.isPending}
              onClick={() => unacknowledge.ask(undefined)}
            >
              {data.snoozed_by ? responses.unsnooze : responses.unacknowledge}
            </GuardedButton>
          )}
          {isEscalation && !data.resolved_at && (
            <GuardedButton
              permission="occurrence:write"
              variant="default"
              leftSection={<IconCircleCheck size={14} stroke={1.6} />}
              loading={resolve.isPending}
              onClick={() => resolve.ask(undefined)}
            >
              {responses.resolve}
            </GuardedButton>
          )}
          {data.event && data.dedup_key !== null && !data.resolved_at && (
            <GuardedButton
              permission="silence:write"
              variant="default"
              leftSection={<IconBellOff size={14} stroke={1.6} />}
              onClick={() => silence()}
            >
              {texts.silenceThis}
            </GuardedButton>
          )}
          {(status !== 'completed' || open > 0) && (
            <GuardedButton
              permission="occurrence:write"
              variant="default"
              leftSection={<IconPlayerStop size={14} stroke={1.6} />}
              loading={cancel.isPending}
              onClick={() => cancel.ask(undefined)}
            >
              {texts.cancel}
            </GuardedButton>
          )}
          {(again > 0 || data.reason === 'crashed') && (
            <GuardedButton
              permission="occurrence:write"
              leftSection={<IconRefresh size={14} stroke={1.6} />}
              loading={replay.isPending}
              onClick={replay.ask}
            >
              {texts.replay}
            </GuardedButton>
          )}
        </>
      }
    >
      <PauseBanners pauses={pauses} />
      <Stack gap="md">
        {replay.result}
        <HoldSection occurrence={data} />
        <Section title={texts.progress} aside={<Sum total={total} open={open} />}>
          <Stack gap="sm">
            <OccurrenceTimeline occurrence={data} />
            <CountsBar counts={counts} height={8} />
            <Group gap="4px 16px" role="status" aria-label={texts.verdict}>
              <Text size="sm" fw={500} title={data.scheduled_for ? exactTime(data.scheduled_for) : undefined}>
                {occurrenceSentence(data)}
              </Text>
              {/* Open deliveries have several statuses, so they have no filter. */}
              <CountsLegend counts={counts} linkTo={each => (each === 'pending' ? undefined : `?status=${each}`)} />
            </Group>
            {data.reason === 'limit.fan_out' && (
              <Alert color="yellow" variant="light" p="xs">
                <Text size="sm" c="var(--mantine-color-text)">
                  {texts.limitReached(total)}
                </Text>
              </Alert>
            )}
            {total === 0 && status === 'completed' && data.reason !== 'limit.fan_out' && (
              <Alert color="gray" variant="light" p="xs">
                <Text size="sm" c="var(--mantine-color-text)">
                  {texts.noMessagesHint}
                </Text>
              </Alert>
            )}
          </Stack>
        </Section>
        <Steps occurrence={data} />
        <Alerts occurrence={data} />
        <ReportedBack occurrence={data} />
        <Attachments occurrence={data} />
        <Deliveries
          identifier={identifier}
          live={status !== 'completed' || open > 0}
          suppressed={counts.suppressed}
          outcome={data.outcome}
        />
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
          <WhyNot identifier={identifier} />
          <Section title={texts.context}>
            <JsonView value={data.context} label={texts.context} />
          </Section>
          <Section title={texts.options}>
            <JsonView value={data.options} label={texts.options} />
          </Section>
        </SimpleGrid>
      </Stack>
    </Page>
  );
}

function Sum({ total, open }: { total: number; open: number }) {
  return (
    <Text size="sm" c="dimmed" role="status" className="numbers">
      {open > 0 ? texts.finishedOf(count(total - open), count(total)) : texts.deliveryCount(total)}
    </Text>
  );
}
