/**
 * Buttons and actions that change something. A disabled button explains the missing permission; the outcome is shown in
 * a toast.
 */
import { Button, type ButtonProps, Group, Tooltip } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type MouseEventHandler, type ReactNode, useEffect, useRef } from 'react';
import { ApiError, CancelledError, explain } from '../api.ts';
import { type PathPrefix, refreshAll } from '../queries.ts';
import { useRefusal } from '../session.tsx';
import { texts } from '../texts/common.ts';

interface GuardedButtonProps extends ButtonProps {
  /** Permission that the user's role must have. */
  permission: string;
  onClick?: MouseEventHandler<HTMLButtonElement>;
  type?: 'button' | 'submit';
  'aria-label'?: string;
  children: ReactNode;
}

export function GuardedButton({ permission, children, disabled, onClick, ...props }: GuardedButtonProps) {
  const refusal = useRefusal()(permission);
  // The button is not really disabled, so that keyboard users can focus it and read the reason.
  const refused = refusal ? { 'data-disabled': true, 'aria-disabled': true, c: undefined } : { onClick };
  return (
    <Tooltip label={refusal} disabled={!refusal} multiline maw={280}>
      <Button {...props} disabled={disabled} {...refused} {...(refusal && { type: 'button' as const })}>
        {children}
      </Button>
    </Tooltip>
  );
}

/** The success toast that is shown. The next one replaces it, so that they never pile up over the page. */
let shownSuccess: string | undefined;

export function showSuccess(message: ReactNode, autoClose = 4_000): string {
  if (shownSuccess) notifications.hide(shownSuccess);
  shownSuccess = notifications.show({ message, color: 'teal', withBorder: true, autoClose });
  return shownSuccess;
}

/**
 * Returns a function that shows what was discarded or replaced, with a button that restores it. The offer ends with the
 * page that made it.
 */
export function useUndo(): (message: string, undo: () => void) => void {
  const toast = useRef<string>(undefined);
  const hide = () => {
    if (toast.current) notifications.hide(toast.current);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: hides the toast only when the page is left
  useEffect(() => hide, []);
  return (message, undo) => {
    const restore = () => {
      hide();
      undo();
    };
    toast.current = showSuccess(
      <Group justify="space-between" wrap="nowrap" gap="xs">
        {message}
        <Button size="compact-xs" variant="default" onClick={restore}>
          {texts.undo}
        </Button>
      </Group>,
      15_000,
    );
  };
}

/** Shows a toast for an action that completed with an undesired outcome. */
export function showWarning(message: string): void {
  notifications.show({ message, color: 'yellow', withBorder: true, autoClose: 10_000 });
}

export function showError(error: unknown): void {
  if (error instanceof CancelledError) return;
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  notifications.show({
    title: error instanceof ApiError ? error.title : texts.somethingWentWrong,
    message: requestId ? texts.errorWithRequest(explain(error), requestId) : explain(error),
    color: 'red',
    withBorder: true,
    autoClose: 10_000,
    role: 'alert',
  });
}

export interface ActionOptions<Input, Result> {
  run: (input: Input) => Promise<Result>;
  /** Message of the success toast. */
  done?: string | ((result: Result, input: Input) => string);
  refresh?: PathPrefix[];
  /** Runs before the toast: a form that is filled again would discard what the user types after it. */
  onDone?: (result: Result, input: Input) => unknown;
  /** Whether the caller shows errors itself, as forms do. */
  silent?: boolean;
}

/** Runs a change, refreshes the queries it affects and shows the outcome in a toast. */
export function useAction<Input, Result>(options: ActionOptions<Input, Result>) {
  const { run, done, refresh = [], onDone, silent = false } = options;
  const queries = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSuccess: async (result, input) => {
      await refreshAll(queries, refresh);
      await onDone?.(result, input);
      if (done) showSuccess(typeof done === 'string' ? done : done(result, input));
    },
    onError: error => {
      if (!silent) showError(error);
    },
  });
}
