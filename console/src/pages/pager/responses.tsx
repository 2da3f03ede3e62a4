/** Responses that could not be sent yet, and what became of those that were sent later. Sends them as soon as possible. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState } from 'react';
import {
  discard,
  isWaiting,
  listResponses,
  type StoredResponse,
  sendAgain,
  sendWaiting,
} from '../../pager/responses.ts';
import { listen } from '../../pager/store.ts';
import { refreshAll } from '../../queries.ts';
import { texts } from '../../texts/pager.ts';

/** A response is stored before it is sent; shown is what takes longer. */
const isShown = (one: StoredResponse) => one.attempts > 0 || !isWaiting(one);

export default function Responses() {
  const responses = useResponses();
  const shown = responses.filter(isShown).sort((a, b) => b.at - a.at);
  return (
    <section aria-label={texts.responses} aria-live="polite">
      {shown.length > 0 && (
        <Stack gap="xs" mb="md" maw={720}>
          {shown.map(response => (
            <Response key={response.id} response={response} />
          ))}
        </Stack>
      )}
    </section>
  );
}

function useResponses(): StoredResponse[] {
  const queries = useQueryClient();
  const [responses, setResponses] = useState<StoredResponse[]>([]);
  const send = useCallback(
    async (now: boolean) => {
      const answered = await sendWaiting({ now });
      if (answered.length > 0) await refreshAll(queries, ['/api/o/{org}/']);
    },
    [queries],
  );
  useEffect(() => {
    const load = () => void listResponses().then(setResponses, () => undefined);
    const sendNow = () => void send(true);
    load();
    sendNow();
    addEventListener('online', sendNow);
    const end = listen(change => change === 'responses' && load());
    return () => {
      removeEventListener('online', sendNow);
      end();
    };
  }, [send]);
  useEffect(() => {
    const waiting = responses.filter(one => isWaiting(one) && one.attempts > 0);
    if (waiting.length === 0) return;
    const dueAt = Math.min(...waiting.map(({ nextAt }) => nextAt));
    // After each change: what was due may have been skipped while something else was being sent.
    const timer = setTimeout(() => void send(false), Math.max(0, dueAt - Date.now()));
    return () => clearTimeout(timer);
  }, [responses, send]);
  return responses;
}

function Response({ response }: { response: StoredResponse }) {
  const { id, title, action, answer, problem, reason } = response;
  const text = answer ?? problem ?? (reason ? texts.notSentBecause(reason) : texts.notSent);
  return (
    <Group className="card" p="sm" gap="xs" justify="space-between" data-waiting={answer === undefined || undefined}>
      <Stack gap={0} flex="1 1 200px" miw={0}>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {texts.responseTo(texts.actions[action], title)}
        </Text>
        <Text
          size="sm"
          c={answer === undefined ? 'var(--mantine-color-error)' : undefined}
          style={{ overflowWrap: 'anywhere' }}
        >
          {text}
        </Text>
      </Stack>
      {answer === undefined ? (
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={() => void sendAgain(response)}>
            {texts.sendAgain}
          </Button>
          <Button
            size="xs"
            variant="default"
            aria-label={texts.discardResponse(title)}
            onClick={() => void discard(id)}
          >
            {texts.discard}
          </Button>
        </Group>
      ) : (
        <Button size="xs" variant="default" aria-label={texts.dismissAnswer(title)} onClick={() => void discard(id)}>
          {texts.dismiss}
        </Button>
      )}
    </Group>
  );
}
