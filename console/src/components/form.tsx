/** Shared parts of forms: validation errors, the message for a conflicting change, buttons. */
import { Alert, Button, Code, Group, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { ApiError, CancelledError, explain } from '../api.ts';
import { texts } from '../texts/common.ts';

/** Returns the first error of each field; the names of nested fields are joined by slashes. */
export function fieldErrors(error: unknown): Record<string, string> {
  if (!(error instanceof ApiError)) return {};
  return Object.fromEntries(Object.entries(error.errors).map(([field, [first = texts.isInvalid]]) => [field, first]));
}

/** Returns the errors nested in one field: `providers/0/host` is `host` in `providers/0`. */
export function errorsBelow(errors: Record<string, string>, parent: string): Record<string, string> {
  const start = `${parent}/`;
  const below = Object.entries(errors).filter(([field]) => field.startsWith(start));
  return Object.fromEntries(below.map(([field, message]) => [field.slice(start.length), message]));
}

/** Returns the props of a Select: it has null where the form has an empty text, because nothing is chosen. */
export function selectProps<Field extends string>(
  form: {
    values: Record<Field, string>;
    getInputProps: (field: Field) => object;
    setFieldValue: (field: Field, value: string) => void;
  },
  field: Field,
) {
  return {
    ...form.getInputProps(field),
    value: form.values[field] || null,
    onChange: (value: string | null) => form.setFieldValue(field, value ?? ''),
  };
}

export function isStale(error: unknown): boolean {
  return error instanceof ApiError && error.status === 412;
}

/**
 * Error message above a form's buttons. Errors shown beside the `shown` fields are only mentioned; a conflicting change
 * (412) offers to reload.
 */
export function FormFailure({
  error,
  shown = [],
  reload,
}: {
  error: unknown;
  shown?: string[];
  /** Reloads the resource and fills the form with it. */
  reload?: () => void;
}) {
  if (!error || error instanceof CancelledError) return null;
  if (isStale(error)) {
    return (
      <Alert color="yellow" icon={<IconAlertTriangle size={18} />} title={texts.someoneElseSavedChanges} role="alert">
        <Text size="sm">{texts.reloadHint}</Text>
        {reload && (
          <Button mt="xs" variant="default" onClick={reload}>
            {texts.reload}
          </Button>
        )}
      </Alert>
    );
  }
  const messages = Object.entries(fieldErrors(error));
  const otherErrors = messages.filter(([field]) => !shown.some(each => field === each || field.startsWith(`${each}/`)));
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <Alert color="red" icon={<IconAlertTriangle size={18} />} role="alert" title={titleOf(error)}>
      <Text size="sm" component="div">
        {messages.length === 0 && explain(error)}
        {messages.length > 0 && otherErrors.length === 0 && texts.checkMarkedFields}
        {otherErrors.map(([field, message]) => (
          <div key={field}>
            <Code>{field}</Code> {message}
          </div>
        ))}
      </Text>
      {requestId && messages.length === 0 && (
        <Text size="xs" c="dimmed" mt={4}>
          {texts.requestWithId(requestId)}
        </Text>
      )}
    </Alert>
  );
}

function titleOf(error: unknown): string {
  return error instanceof ApiError ? error.title : texts.somethingWentWrong;
}

/** `isSticky` keeps them in view while a long form scrolls. The form must be the last part of its card or dialog. */
export function FormButtons({ children, isSticky = false }: { children: React.ReactNode; isSticky?: boolean }) {
  return (
    <Group className={isSticky ? 'stickybar' : undefined} justify="flex-end" gap="xs" mt="xs">
      {children}
    </Group>
  );
}
