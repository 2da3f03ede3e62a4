/** Banners for what is paused, since when, and how much is waiting, with a button to resume. */
import { Alert, Group, Stack, Text } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import type { Pause } from '../api-types.ts';
import { GuardedButton, useAction } from '../components/actions.tsx';
import { TimeAgo } from '../components/time.tsx';
import { useOrg } from '../paths.ts';
import { countOf } from '../texts/count-of.ts';
import { texts } from '../texts/pauses.ts';
import { type Resuming, resume } from './resume.ts';
import { askToResume } from './resume-dialog.tsx';

/** One banner per pause; renders nothing without pauses. */
export function PauseBanners({ pauses, onResumed }: { pauses: Pause[]; onResumed?: () => void }) {
  if (pauses.length === 0) return null;
  return (
    <Stack gap="xs" mb="md">
      {pauses.map(pause => (
        <PauseBanner key={`${pause.kind} ${pause.path}`} pause={pause} onResumed={onResumed} />
      ))}
    </Stack>
  );
}

function PauseBanner({ pause, onResumed }: { pause: Pause; onResumed?: () => void }) {
  const org = useOrg();
  const { kind, path, since, scope, cause, reason, waiting } = pause;
  const ofService = kind === 'service';
  const name = kind === 'organization' ? texts.sending : path;
  const action = useAction({
    run: (how: Resuming) => resume(org, pause, how),
    done: ({ released, dropped }, { per_second }) => {
      if (dropped > 0) return texts.resumedDropped(name, dropped);
      if (released === 0) return texts.resumed(name);
      return per_second ? texts.resumedSlowly(name, released, per_second) : texts.resumedSome(name, released);
    },
    refresh: ['/api/o/{org}/'],
    onDone: onResumed,
  });
  const title = titleOf(pause);
  const holdsNothing = waiting.messages + waiting.occurrences === 0;
  const start = () =>
    holdsNothing
      ? action.mutate({})
      : askToResume({ name, waiting: describeWaiting(waiting), run: how => action.mutateAsync(how) });
  return (
    <Alert color={cause ? 'orange' : 'yellow'} variant="light" p="xs" pl="sm" role="region" aria-label={title}>
      <Group justify="space-between" gap="xs">
        <Group gap="xs" wrap="nowrap" align="flex-start" miw={0} flex={1}>
          <IconPlayerPause size={17} stroke={1.8} aria-hidden style={{ flexShrink: 0, marginTop: 2 }} />
          <Text size="sm" c="var(--mantine-color-text)" component="div" style={{ overflowWrap: 'anywhere' }}>
            <Text component="span" inherit fw={600}>
              {title}.
            </Text>{' '}
            {ofService && `${texts.restoredOrCopied} `}
            {reason && (
              <>
                <span>{sentence(reason)}</span>{' '}
              </>
            )}
            {scope === 'bulk' && `${texts.otherMessagesAreSent} `}
            {cause && `${scope === 'not_urgent' ? texts.urgentIsSent : texts.everythingIsHeld} `}
            {describeWaiting(waiting)}{' '}
            <Text component="span" inherit c="dimmed">
              <TimeAgo at={since} text={texts.paused} />
            </Text>
          </Text>
        </Group>
        {!ofService && (
          <GuardedButton
            permission={permissions[kind] ?? 'event:write'}
            variant="default"
            leftSection={<IconPlayerPlay size={14} stroke={1.6} />}
            loading={action.isPending}
            onClick={start}
            aria-label={texts.resumePath(name)}
          >
            {texts.resume}
          </GuardedButton>
        )}
      </Group>
    </Alert>
  );
}

const permissions: Partial<Record<Pause['kind'], string>> = { channel: 'channel:write', key: 'key:write' };

function titleOf({ kind, path, scope, cause }: Pause): string {
  if (kind === 'service') return texts.sendingIsPaused;
  if (kind === 'organization') return texts.organizationIsPaused;
  if (cause) return texts.surges(texts[kind], path);
  return scope === 'bulk' ? texts.bulkIsPaused(path) : texts.isPaused(texts[kind], path);
}

/** Ends the reason with a full stop, because another sentence follows. */
function sentence(reason: string): string {
  return /[.!?…]$/.test(reason) ? reason : `${reason}.`;
}

function describeWaiting({ messages, occurrences, capped }: Pause['waiting']): string {
  const counts = [
    messages > 0 && countOf(messages, 'message', { isAtLeast: capped }),
    occurrences > 0 && countOf(occurrences, 'occurrence', { isAtLeast: capped }),
  ].filter(text => text !== false);
  if (counts.length === 0) return texts.nothingIsWaitingYet;
  const what = counts.length === 1 ? counts[0] : texts.both(counts[0], counts[1]);
  return texts.waiting(what, messages + occurrences === 1 && !capped);
}
