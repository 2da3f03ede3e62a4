/** What forms share: the service's refusals beside their fields, and what to do when somebody else was faster. */
import { Alert, Button, Code, Group, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { ApiError, Cancelled, explain } from '../api.ts';
import { texts } from '../texts/common.ts';

/** Field to its first mistake, in a sentence's form; the fields of what is nested are joined by slashes. */
export function fieldErrors(error: unknown): Record<string, string> {
  if (!(error instanceof ApiError)) return {};
  return Object.fromEntries(Object.entries(error.errors).map(([field, [first = texts.isInvalid]]) => [field, first]));
}

/** The mistakes below one field: `providers/0/host` is `host` below `providers/0`. */
export function errorsBelow(errors: Record<string, string>, place: string): Record<string, string> {
  const start = `${place}/`;
  const below = Object.entries(errors).filter(([field]) => field.startsWith(start));
  return Object.fromEntries(below.map(([field, message]) => [field.slice(start.length), message]));
}

export function isStale(error: unknown): boolean {
  return error instanceof ApiError && error.status === 412;
}

/**
 * Above the buttons of a form. Mistakes that stand beside the `shown` fields are only counted here; a change that came
 * too late (412) offers what is there now.
 */
export function FormFailure({
  error,
  shown = [],
  reload,
}: {
  error: unknown;
  shown?: string[];
  /** Reads the thing again and fills the form with it. */
  reload?: () => void;
}) {
  if (!error || error instanceof Cancelled) return null;
  if (isStale(error)) {
    return (
      <Alert color="yellow" icon={<IconAlertTriangle size={18} />} title={texts.someoneElseSavedChanges} role="alert">
        <Text size="sm">{texts.yourChangesWereNotSavedReload}</Text>
        {reload && (
          <Button mt="xs" variant="default" onClick={reload}>
            {texts.reload}
          </Button>
        )}
      </Alert>
    );
  }
  const mistakes = Object.entries(fieldErrors(error));
  const elsewhere = mistakes.filter(([field]) => !shown.some(each => field === each || field.startsWith(`${each}/`)));
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <Alert color="red" icon={<IconAlertTriangle size={18} />} role="alert" title={titleOf(error)}>
      <Text size="sm" component="div">
        {mistakes.length === 0 && explain(error)}
        {mistakes.length > 0 && elsewhere.length === 0 && texts.checkTheFieldsMarkedAbove}
        {elsewhere.map(([field, message]) => (
          <div key={field}>
            <Code>{field}</Code> {message}
          </div>
        ))}
      </Text>
      {requestId && mistakes.length === 0 && (
        <Text size="xs" c="dimmed" mt={4}>
          {texts.request2(requestId)}
        </Text>
      )}
    </Alert>
  );
}

function titleOf(error: unknown): string {
  return error instanceof ApiError ? error.title : texts.somethingWentWrong;
}

export function FormButtons({ children }: { children: React.ReactNode }) {
  return (
    <Group justify="flex-end" gap="xs" mt="xs">
      {children}
    </Group>
  );
}

/** `Text messages` becomes `text-messages`, as slugs are written. */
export function slugFrom(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '');
}
