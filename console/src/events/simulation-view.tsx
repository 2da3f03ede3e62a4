/** Result of a simulation: recipients and reasons for not sending by notification, and the rendered messages. */
import { Accordion, Alert, Badge, Box, Group, Stack, Text } from '@mantine/core';
import { reasons, type Simulation } from '../api-types.ts';
import { count } from '../components/counts.tsx';
import { fill } from '../components/fill.tsx';
import { MessageView } from '../components/message-view.tsx';
import { clockAndDay } from '../components/time.tsx';
import { countOf } from '../texts/count-of.ts';
import { texts } from '../texts/events.ts';

type SimulatedDelivery = Simulation['deliveries'][number];
type SimulatedRun = NonNullable<Simulation['notifications'][number]['steps']>[number];

export function SimulationView({ simulation, only }: { simulation: Simulation; only?: string }) {
  const notifications = simulation.notifications.filter(({ name }) => only === undefined || name === only);
  const deliveries = simulation.deliveries.filter(({ notification }) => only === undefined || notification === only);
  const total = notifications.reduce((sum, one) => sum + one.deliveries, 0);
  return (
    <Stack gap="sm" role="status">
      <Text size="sm">
        {fill(simulation.complete ? texts.wouldBeSent : texts.wouldBeSentToTheFirst, {
          messages: <b>{countOf(total, 'message')}</b>,
        })}
      </Text>
      {simulation.silence && (
        <Alert color="yellow" variant="light" p="xs">
          <Text size="sm" c="var(--mantine-color-text)">
            {texts.silenced[simulation.silence.effect](
              simulation.silence.created_by,
              clockAndDay(simulation.silence.until),
              simulation.silence.reason,
            )}
          </Text>
        </Alert>
      )}
      {notifications.length === 0 && (
        <Alert color="yellow" variant="light" p="xs">
          <Text size="sm" c="var(--mantine-color-text)">
            {texts.simulatesNothing}
          </Text>
        </Alert>
      )}
      {notifications.map(notification => (
        <Outcome
          key={notification.name}
          {...notification}
          at={simulation.at}
          messages={deliveries.filter(one => one.notification === notification.name)}
        />
      ))}
      <SimulatedDeliveries deliveries={deliveries} />
    </Stack>
  );
}

/** Messages as their recipients would get them; renders nothing without any. */
export function SimulatedDeliveries({ deliveries }: { deliveries: SimulatedDelivery[] }) {
  if (deliveries.length === 0) return null;
  return (
    <Accordion variant="contained" chevronPosition="left" order={3} className="compact">
      {deliveries.map((delivery, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
        <Accordion.Item key={i} value={String(i)}>
          <Accordion.Control disabled={!delivery.message && !delivery.problem}>
            <Group gap="xs" justify="space-between" wrap="nowrap">
              <Box miw={0}>
                <Text size="sm" truncate>
                  {delivery.user}
                </Text>
                <Text size="xs" c="dimmed" truncate>
                  {delivery.notification} · {delivery.channel}
                  {delivery.address && delivery.address !== delivery.user ? ` · ${delivery.address}` : ''}
                </Text>
                {(delivery.detail || delivery.due_at) && (
                  <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                    {delivery.detail ?? reasons[delivery.reason ?? '']}
                  </Text>
                )}
              </Box>
              <Verdict {...delivery} />
            </Group>
          </Accordion.Control>
          <Accordion.Panel>
            {delivery.message && <MessageView message={delivery.message} />}
            {delivery.problem && (
              <Text size="sm" c="var(--mantine-color-error)">
                {delivery.problem}
              </Text>
            )}
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  );
}

type OutcomeProps = Simulation['notifications'][number] & { at: string; messages: SimulatedDelivery[] };

function Outcome({ name, reason, deliveries, suppressed, held, steps, at, messages }: OutcomeProps) {
  const inOrder = (counts: Record<string, number>) => Object.entries(counts).sort(([, a], [, b]) => b - a);
  return (
    <Box className="card" px="sm" py={8}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={500}>
          {name}
        </Text>
        <Text size="sm" className="numbers">
          {reason ? texts.nothingWouldBeSent : texts.countWouldBeSent(count(deliveries))}
        </Text>
      </Group>
      {reason && (
        <Text size="xs" c="dimmed">
          {reasons[reason] ?? reason}
        </Text>
      )}
      {steps && <Steps at={at} runs={steps} messages={messages} />}
      {inOrder(held).map(([code, amount]) => (
        <Text key={code} size="xs" c="dimmed">
          {fill(texts.ofThemWait, {
            amount: <span className="numbers">{count(amount)}</span>,
            reason: reasons[code] ?? code,
          })}
        </Text>
      ))}
      {inOrder(suppressed).map(([code, amount]) => (
        <Text key={code} size="xs" c="dimmed">
          {fill(texts.notSent, {
            amount: <span className="numbers">{count(amount)}</span>,
            reason: reasons[code] ?? code,
          })}
        </Text>
      ))}
    </Box>
  );
}

const maxMessages = 5;

/** When each step would run if no one acknowledged, and whom it would notify. */
function Steps({ at, runs, messages }: { at: string; runs: SimulatedRun[]; messages: SimulatedDelivery[] }) {
  const after = (time: string) => texts.afterMinutes(minutesBetween(at, time));
  return (
    <Stack component="ol" gap={6} my={6} p={0} aria-label={texts.stepsIfNoOne} style={{ listStyle: 'none' }}>
      {runs.map(run => {
        const sent = messages.filter(({ step, reason, due_at }) => step === run.number && (!reason || due_at));
        const others = run.deliveries - Math.min(sent.length, maxMessages);
        return (
          <li key={run.number}>
            <Text size="sm">
              <Text component="span" inherit fw={500} className="numbers">
                {after(run.at)}
              </Text>
              {' · '}
              {texts.stepOf(run.step, run.recipients)}
              {run.unless && `, ${texts.unless(run.unless)}`}
            </Text>
            {run.reason && (
              <Text size="xs" c="dimmed">
                {reasons[run.reason] ?? run.reason}
              </Text>
            )}
            {sent.slice(0, maxMessages).map((one, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
              <Text key={i} size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {texts.reachedBy(one.user, one.channel)}
                {one.due_at && one.due_at !== run.at && `, ${after(one.due_at)}`}
              </Text>
            ))}
            {others > 0 && (
              <Text size="xs" c="dimmed">
                {sent.length > 0 ? texts.moreMessages(others) : countOf(others, 'message')}
              </Text>
            )}
          </li>
        );
      })}
    </Stack>
  );
}

/** To a tenth. */
function minutesBetween(from: string, until: string): number {
  return Math.round((Date.parse(until) - Date.parse(from)) / 6_000) / 10;
}

function Verdict({ reason, problem, due_at }: Pick<SimulatedDelivery, 'reason' | 'problem' | 'due_at'>) {
  if (problem) return <Plain>{texts.cannotBeRendered}</Plain>;
  if (due_at) return <Plain>{texts.wouldWaitUntil(clockAndDay(due_at))}</Plain>;
  return <Plain>{reason ? (reasons[reason] ?? reason) : texts.wouldBeSentBadge}</Plain>;
}

function Plain({ children }: { children: string }) {
  return (
    <Badge variant="default" tt="none" fw={400} size="md" style={{ flexShrink: 1 }}>
      {children}
    </Badge>
  );
}
