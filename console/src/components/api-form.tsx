/** A form that submits its values to the API and shows validation errors beside its fields. */
import { Button, Modal, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useHotkeys } from '@mantine/hooks';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import type { PathPrefix } from '../queries.ts';
import { texts } from '../texts/common.ts';
import { GuardedButton, useAction } from './actions.tsx';
import { FormButtons, FormFailure, fieldErrors } from './form.tsx';
import { forgetDraft, readKeptDraft, useKeptDraft } from './kept-draft.ts';

interface ApiFormOptions<Values, Result> {
  initialValues: Values;
  /** Returns every client-side validation error by field, before the request is sent. */
  validate?: (values: Values) => Record<string, string>;
  run: (values: Values, headers: IfMatch) => Promise<Result>;
  /** Message of the success toast. */
  done?: string | ((result: Result, values: Values) => string);
  refresh?: PathPrefix[];
  onDone?: (result: Result) => unknown;
  /** Keeps unsaved changes of a stored resource; see kept-draft.ts. */
  draft?: DraftOptions<Values>;
}

interface DraftOptions<Values> {
  /** Path of the resource in the console, and the form, if it has several. */
  key: string;
  /** Of the values that the form is filled with. It is sent with the changes, so that a conflict is detected. */
  etag: string | null;
  /** After another action of the page has changed the resource. */
  ownEtag?: string | null;
  /** Removes what must not be stored in the browser, such as secrets. */
  toStored?: (values: Values) => Values;
}

interface KeptForm<Values> {
  base: Values;
  values: Values;
  etag: string | null;
}

type IfMatch = { 'if-match'?: string };

export function useApiForm<Values extends Record<string, unknown>, Result>(options: ApiFormOptions<Values, Result>) {
  const { initialValues, validate, run, done, refresh, onDone, draft } = options;
  const [kept] = useState(() => (draft ? readKeptDraft<KeptForm<Values>>(draft.key) : undefined));
  const form = useForm<Values>({ initialValues: kept?.base ?? initialValues, validate });
  const [base] = useState(kept?.base ?? initialValues);
  // Does not change while the user types, even if the page refreshes.
  const [startEtag] = useState(kept?.etag ?? draft?.etag ?? null);
  const etag = draft?.ownEtag ?? startEtag;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the page is opened
  useEffect(() => {
    if (kept) form.setValues(kept.values);
  }, []);
  const isChanged = draft !== undefined && form.isDirty();
  const values = isChanged ? (draft.toStored?.(form.values) ?? form.values) : undefined;
  useKeptDraft(draft?.key, values && { base, values, etag });
  const forget = () => {
    if (!draft) return;
    forgetDraft(draft.key);
    form.resetDirty();
  };
  const action = useAction<Values, Result>({
    run: sent => run(sent, etag ? { 'if-match': etag } : {}),
    done,
    refresh,
    onDone: result => {
      forget();
      return onDone?.(result);
    },
    silent: true,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    const element = event.currentTarget;
    const send = form.onSubmit(
      values =>
        action.mutate(values, {
          onError: error => {
            form.setErrors(fieldErrors(error));
            focusFirstError(element);
          },
        }),
      () => focusFirstError(element),
    );
    send(event);
  };
  const discard = () => {
    forget();
    form.setValues(base);
    form.resetDirty(base);
  };
  return { form, action, submit, forget, discard: isChanged ? discard : undefined };
}

/** Focuses the first invalid field once it is marked; in a long form it may be out of view. */
function focusFirstError(element: HTMLFormElement): void {
  requestAnimationFrame(() => element.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
}

type ApiForm = Pick<
  ReturnType<typeof useApiForm<Record<string, unknown>, unknown>>,
  'submit' | 'forget' | 'discard'
> & {
  form: { values: object; isDirty: () => boolean };
  action: { error: unknown; isPending: boolean };
};

interface FormProps {
  of: ApiForm;
  /** Label of the submit button. */
  submit: string;
  cancel?: () => void;
  /** Permission that submitting needs, where the page does not check it. */
  permission?: string;
  isDisabled?: boolean;
  /** Reloads the resource after someone else changed it. */
  reload?: () => void;
  /** Accessible name of the form. */
  label?: string;
  /** Keeps the buttons in view; see FormButtons. */
  isLong?: boolean;
  children: ReactNode;
}

/** Ctrl-S or Cmd-S submits the form with the focus, otherwise one with changes. */
export function ApiForm({ of, submit, cancel, permission, isDisabled, reload, label, isLong, children }: FormProps) {
  const { form, action } = of;
  const element = useRef<HTMLFormElement>(null);
  const save = () => {
    const focused = document.activeElement?.closest('form');
    if (focused ? focused !== element.current : !form.isDirty()) return;
    // The button knows whether the form may be submitted.
    element.current?.querySelector<HTMLButtonElement>('button[type=submit]')?.click();
  };
  useHotkeys([['mod+S', save]], []);
  const button = { type: 'submit', loading: action.isPending, disabled: isDisabled } as const;
  return (
    <form noValidate onSubmit={of.submit} aria-label={label} ref={element}>
      <Stack gap="sm">
        {children}
        <FormFailure
          error={action.error}
          shown={Object.keys(form.values)}
          reload={
            reload &&
            (() => {
              of.forget();
              reload();
            })
          }
        />
        <FormButtons isSticky={isLong}>
          {cancel && (
            <Button variant="default" onClick={cancel}>
              {texts.cancel}
            </Button>
          )}
          {of.discard && (
            <Button variant="default" onClick={of.discard}>
              {texts.discardChanges}
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
  /** Shown instead of the form after it was submitted. */
  result?: ReactNode;
}

/** A form in a dialog over the page, open while it is mounted. A click beside it does not discard what was entered. */
export function FormModal({ title, close, size, result, ...form }: FormModalProps) {
  return (
    <Modal opened onClose={close} title={title} size={size} closeOnClickOutside={!form.of.form.isDirty()}>
      {result || <ApiForm {...form} cancel={close} isLong />}
    </Modal>
  );
}
