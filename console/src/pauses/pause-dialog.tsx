/** Asks for an optional reason before an application, event or channel is paused. */
import { TextInput } from '@mantine/core';
import { modals } from '@mantine/modals';
import { ApiForm, useApiForm } from '../components/api-form.tsx';
import type { PathPrefix } from '../queries.ts';
import { texts } from '../texts/pauses.ts';

const maxReasonLength = 500;

interface Pausing {
  /** Name of what is paused. */
  name: string;
  run: (body: { reason?: string }) => Promise<unknown>;
  refresh?: PathPrefix[];
  onDone?: () => unknown;
}

export function askToPause(pausing: Pausing): void {
  const id = modals.open({
    title: texts.pauseQuestion(pausing.name),
    children: <PauseForm {...pausing} close={() => modals.close(id)} />,
  });
}

function PauseForm({ name, run, refresh = ['/api/o/{org}/'], onDone, close }: Pausing & { close: () => void }) {
  const pausing = useApiForm({
    initialValues: { reason: '' },
    run: ({ reason }) => run(reason.trim() ? { reason } : {}),
    done: texts.pausedToast(name),
    refresh,
    onDone: () => {
      close();
      return onDone?.();
    },
  });
  return (
    <ApiForm of={pausing} submit={texts.pause} cancel={close}>
      <TextInput
        label={texts.reason}
        description={texts.reasonHint}
        placeholder={texts.reasonExample}
        maxLength={maxReasonLength}
        data-autofocus
        {...pausing.form.getInputProps('reason')}
      />
    </ApiForm>
  );
}
