/** Placeholders for data: loading, empty and error. */
import { Anchor, Button, Center, Code, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { ApiError, explain, isTransient } from '../api.ts';
import { texts } from '../texts/common.ts';
import { fill } from './fill.tsx';

export function Loading({ label = texts.loading }: { label?: string }) {
  return (
    <Center mih="60vh" role="status" aria-label={label}>
      <Loader size="sm" type="dots" aria-hidden />
    </Center>
  );
}

interface EmptyProps {
  icon?: ReactNode;
  title: string;
  /** Explains what the list is for and what to do first. */
  children?: ReactNode;
  action?: ReactNode;
}

export function Empty({ icon, title, children, action }: EmptyProps) {
  return (
    <Stack align="center" gap="xs" py={48} px="md" ta="center">
      {icon && (
        <Text component="span" c="dimmed" lh={0} mb={4} aria-hidden>
          {icon}
        </Text>
      )}
      <Text fw={600}>{title}</Text>
      {children && (
        <Text component="div" c="dimmed" size="sm" maw="min(600px, 100%)">
          {children}
        </Text>
      )}
      {action && <Group mt="xs">{action}</Group>}
    </Stack>
  );
}

const firstRetryMs = 2_000;
const maxRetryMs = 30_000;

/** Repeats what failed, less and less often, and at once when the browser is online again. */
function useRetries(retry: (() => void) | undefined): void {
  const latest = useRef(retry);
  latest.current = retry;
  const isOn = retry !== undefined;
  useEffect(() => {
    if (!isOn) return;
    let timer: ReturnType<typeof setTimeout>;
    let delay = firstRetryMs;
    const schedule = () => {
      // Random, so that all open consoles do not return at the same moment.
      timer = setTimeout(run, delay * (0.75 + Math.random() / 2));
      delay = Math.min(delay * 2, maxRetryMs);
    };
    const run = () => {
      clearTimeout(timer);
      latest.current?.();
      schedule();
    };
    schedule();
    addEventListener('online', run);
    return () => {
      clearTimeout(timer);
      removeEventListener('online', run);
    };
  }, [isOn]);
}

/** Shows the error and its request ID, which can be looked up in the log. An error that may pass is retried automatically. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  useRetries(isTransient(error) ? retry : undefined);
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  const title = error instanceof ApiError ? error.title : texts.somethingWentWrong;
  return (
    <Stack align="center" gap="xs" py={40} px="md" ta="center" role="alert">
      <Text component="span" c="var(--mantine-color-error)" lh={0} aria-hidden>
        <IconAlertTriangle size={22} stroke={1.6} />
      </Text>
      <Text fw={600}>{title}</Text>
      <Text c="dimmed" size="sm" maw={560}>
        {explain(error)}
      </Text>
      {requestId && (
        <Text c="dimmed" size="xs">
          {fill(texts.request, { id: <Code fz="xs">{requestId}</Code> })}
        </Text>
      )}
      {retry && (
        <Button variant="default" mt="xs" onClick={retry}>
          {texts.tryAgain}
        </Button>
      )}
    </Stack>
  );
}

/** Error page without the console's frame. */
export function FullPage({ error, retry, children }: { error: unknown; retry?: () => void; children?: ReactNode }) {
  return (
    <Center mih="100vh" component="main" px="md">
      <Stack align="center" gap={0} maw="100%">
        <Title order={1} size="h2">
          {texts.belfry}
        </Title>
        <Failure error={error} retry={retry} />
        {children}
        <Anchor href="/" size="sm">
          {texts.goToTheOverview}
        </Anchor>
      </Stack>
    </Center>
  );
}
