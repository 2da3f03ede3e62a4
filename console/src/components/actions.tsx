/** Buttons that change something: who may not press them is told why; what came of it is told in a toast. */
import { Button, type ButtonProps, Tooltip } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import type { MouseEventHandler, ReactNode } from 'react';
import { ApiError, Cancelled, explain } from '../api.ts';
import { useRefusal } from '../session.tsx';
import { texts } from '../texts/common.ts';

interface GuardedButtonProps extends ButtonProps {
  /** What the role must have. */
  permission: string;
  onClick?: MouseEventHandler<HTMLButtonElement>;
  type?: 'button' | 'submit';
  'aria-label'?: string;
  children: ReactNode;
}

export function GuardedButton({ permission, children, disabled, onClick, ...props }: GuardedButtonProps) {
  const refusal = useRefusal()(permission);
  // Not really disabled, so that the keyboard reaches it and the reason can be read.
  const refused = refusal ? { 'data-disabled': true, 'aria-disabled': true, c: undefined } : { onClick };
  return (
    <Tooltip label={refusal} disabled={!refusal} multiline maw={280}>
      <Button {...props} disabled={disabled} {...refused} {...(refusal && { type: 'button' as const })}>
        {children}
      </Button>
    </Tooltip>
  );
}

export function tellSuccess(message: string): void {
  notifications.show({ message, color: 'teal', withBorder: true });
}

/** It is done, and not what was hoped for. */
export function tellWarning(message: string): void {
  notifications.show({ message, color: 'yellow', withBorder: true, autoClose: 10_000 });
}

export function tellFailure(error: unknown): void {
  if (error instanceof Cancelled) return;
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  notifications.show({
    title: error instanceof ApiError ? error.title : texts.somethingWentWrong,
    message: requestId ? texts.request(explain(error), requestId) : explain(error),
    color: 'red',
    withBorder: true,
    autoClose: 10_000,
    role: 'alert',
  });
}

/** A change: runs it, refreshes what it touches, says what came of it. */
export function useAction<Input, Result>({
  run,
  done,
  refresh = [],
  onDone,
  quiet = false,
}: {
  run: (input: Input) => Promise<Result>;
  /** The toast afterwards. */
  done?: string | ((result: Result, input: Input) => string);
  refresh?: QueryKey[];
  onDone?: (result: Result, input: Input) => void;
  /** The caller shows errors itself, as forms do. */
  quiet?: boolean;
}) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSuccess: async (result, input) => {
      await Promise.all(refresh.map(queryKey => queries.invalidateQueries({ queryKey })));
      if (done) tellSuccess(typeof done === 'string' ? done : done(result, input));
      onDone?.(result, input);
    },
    onError: error => {
      if (!quiet) tellFailure(error);
    },
  });
}
