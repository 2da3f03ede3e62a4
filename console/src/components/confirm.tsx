/** Asks for confirmation before an action that cannot be undone. */
import { Text } from '@mantine/core';
import { modals } from '@mantine/modals';
import type { ReactNode } from 'react';
import { texts } from '../texts/common.ts';
import { type ActionOptions, useAction } from './actions.tsx';

interface Question {
  title: string;
  children: ReactNode;
  /** Label of the confirm button, a verb phrase such as "Cancel occurrence". */
  action: string;
  danger?: boolean;
}

export function confirm({ title, children, action, danger = false }: Question): Promise<boolean> {
  return new Promise(resolve => {
    modals.openConfirmModal({
      title,
      children: (
        <Text component="div" size="sm">
          {children}
        </Text>
      ),
      labels: { confirm: action, cancel: texts.cancel },
      confirmProps: danger ? { color: 'red.8' } : {},
      onConfirm: () => resolve(true),
      onCancel: () => resolve(false),
      onClose: () => resolve(false),
    });
  });
}

interface ConfirmedActionOptions<Input, Result> extends ActionOptions<Input, Result> {
  question: Question | ((input: Input) => Question);
}

/** An action that `ask` runs after the user has confirmed it. */
export function useConfirmedAction<Input, Result>({ question, ...options }: ConfirmedActionOptions<Input, Result>) {
  const action = useAction(options);
  const askAndRun = async (input: Input) => {
    if (await confirm(typeof question === 'function' ? question(input) : question)) action.mutate(input);
  };
  return { ...action, ask: (input: Input) => void askAndRun(input) };
}
