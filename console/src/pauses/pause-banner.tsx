/** Banners for what is paused, since when, and how much is waiting, with a button to resume. */
import { Alert, Group, Stack, Text } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import type { Pause } from '../api-types.ts';
import { GuardedButton, useAction } from '../components/actions.tsx';
import { TimeAgo } from '../components/time.tsx';
import { useOrg } from '../paths.ts';
import { countOf } from '../texts/count-of.ts';
import { texts } from '../texts/pauses.ts';
import { resume } from './resume.ts';

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
  const { kind, path, since, scope, reason, waiting } = pause;
  const ofService = kind === 'service';
  const paused = scope === 'bulk' ? texts.bulkIsPaused(path) : texts.isPaused(texts[kind as 'channel'], path);
  const title = ofService ? texts.sendingIsPaused : paused;
  const action = useAction({
    run: () => resume(org, pause),
    done: ({ released }) => {
      if (released === 0) return texts.resumed(path);
      return texts.resumedSome(path, released);
    },
    refresh: ['/api/o/{org}/'],
    onDone: onResumed,
  });
  return (
    <Alert color="yellow" variant="light" p="xs" pl="sm" role="region" aria-label={title}>
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
            {describeWaiting(waiting)}{' '}
            <Text component="span" inherit c="dimmed">
              <TimeAgo at={since} text={texts.paused} />
            </Text>
          </Text>
        </Group>
        {!ofService && (
          <GuardedButton
            permission={kind === 'channel' ? 'channel:write' : 'event:write'}
            variant="default"
            leftSection={<IconPlayerPlay size={14} stroke={1.6} />}
            loading={action.isPending}
            onClick={() => action.mutate(undefined)}
            aria-label={texts.resumePath(path)}
          >
            {texts.resume}
          </GuardedButton>
        )}
      </Group>
    </Alert>
  );
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
