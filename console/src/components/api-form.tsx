/** A form whose values are sent to the service, with what the service refuses shown beside its fields. */
import { Button, Modal, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { QueryKey } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { texts } from '../texts/common.ts';
import { GuardedButton, useAction } from './actions.tsx';
import { FormButtons, FormFailure, fieldErrors } from './form.tsx';

interface ApiFormOptions<Values, Result> {
  initialValues: Values;
  /** What is wrong before the service is asked, by field: all of it at once. */
  validate?: (values: Values) => Record<string, string>;
  run: (values: Values) => Promise<Result>;
  /** The toast afterwards. */
  done?: string | ((result: Result, values: Values) => string);
  refresh?: QueryKey[];
  onDone?: (result: Result) => void;
}

export function useApiForm<Values extends Record<string, unknown>, Result>(options: ApiFormOptions<Values, Result>) {
  const { initialValues, validate, run, done, refresh, onDone } = options;
  const form = useForm<Values>({ initialValues, validate });
  const action = useAction<Values, Result>({ run, done, refresh, onDone, quiet: true });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    const element = event.currentTarget;
    const send = form.onSubmit(
      values =>
        action.mutate(values, {
          onError: error => {
            form.setErrors(fieldErrors(error));
            focusMistake(element);
          },
        }),
      () => focusMistake(element),
    );
    send(event);
  };
  return { form, action, submit };
}

/** Once it is marked: long forms would hide it. */
function focusMistake(element: HTMLFormElement): void {
  requestAnimationFrame(() => element.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
}

type ApiForm = Pick<ReturnType<typeof useApiForm<Record<string, unknown>, unknown>>, 'submit'> & {
  form: { values: object };
  action: { error: unknown; isPending: boolean };
};

interface FormProps {
  of: ApiForm;
  /** What the button says. */
  submit: string;
  cancel?: () => void;
  /** What the button needs, where the page does not ask for it. */
  permission?: string;
  isDisabled?: boolean;
  /** Reads the thing again, after somebody else changed it. */
  reload?: () => void;
  /** Its accessible name. */
  label?: string;
  children: ReactNode;
}

export function ApiForm({ of, submit, cancel, permission, isDisabled, reload, label, children }: FormProps) {
  const { form, action } = of;
  const button = { type: 'submit', loading: action.isPending, disabled: isDisabled } as const;
  return (
    <form noValidate onSubmit={of.submit} aria-label={label}>
      <Stack gap="sm">
        {children}
        <FormFailure error={action.error} shown={Object.keys(form.values)} reload={reload} />
        <FormButtons>
          {cancel && (
            <Button variant="default" onClick={cancel}>
              {texts.cancel}
            </Button>
          )}
          {permission ? (
            <GuardedButton permission={permission} {...button}>
              {submit}
            </GuardedButton>
          ) : (
            <Button {...button}>{submit}</Button>
          )}
        </FormButtons>
      </Stack>
    </form>
  );
}

interface FormModalProps extends Omit<FormProps, 'cancel'> {
  title: string;
  close: () => void;
  size?: string;
  /** What is shown in place of the form, once it is done. */
  result?: ReactNode;
}

/** Every form that opens over a page. Shown while it is mounted. */
export function FormModal({ title, close, size, result, ...form }: FormModalProps) {
  return (
    <Modal opened onClose={close} title={title} size={size}>
      {result || <ApiForm {...form} cancel={close} />}
    </Modal>
  );
}
