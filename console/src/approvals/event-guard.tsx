/** Shows and edits the guard of an event. */
import { Text } from '@mantine/core';
import { useState } from 'react';
import { api, take } from '../api.ts';
import type { EventDetails } from '../api-types.ts';
import { GuardedButton } from '../components/actions.tsx';
import { FormModal, useApiForm } from '../components/api-form.tsx';
import { count } from '../components/counts.tsx';
import { Facts } from '../components/facts.tsx';
import { Section } from '../components/page.tsx';
import type { EventPath } from '../events/sample.ts';
import { texts } from '../texts/guards.ts';
import { eventLimits, type GuardValues, LimitFields, toGuard, validateLimits } from './guard-fields.tsx';

type Guard = EventDetails['guard'];

interface EventGuardProps {
  path: EventPath;
  guard: Guard;
  /** ETag that the change is sent with. */
  etag: string | null;
}

export function EventGuard({ path, guard, etag }: EventGuardProps) {
  const [isEditing, setIsEditing] = useState(false);
  const show = (limit: number | string | undefined) =>
    limit === undefined
      ? texts.ofOrganization
      : limit === 'off'
        ? texts.isOff
        : `${texts.limit} ${count(Number(limit))}`;
  return (
    <Section
      title={texts.guards}
      aside={
        // Without this permission, the guard would hold no one up.
        <GuardedButton permission="occurrence:approve" variant="subtle" onClick={() => setIsEditing(true)}>
          {texts.edit}
        </GuardedButton>
      }
    >
      <Text size="sm" c="dimmed" mb="xs">
        {texts.guardsHint}
      </Text>
      <Facts
        facts={[
          [texts.recipients, show(guard?.audience)],
          [texts.triggers, show(guard?.rate)],
          [texts.urgentTriggers, show(guard?.urgent_rate)],
        ]}
      />
      {isEditing && <GuardForm path={path} guard={guard} etag={etag} close={() => setIsEditing(false)} />}
    </Section>
  );
}

function GuardForm({ path, guard, etag, close }: EventGuardProps & { close: () => void }) {
  const editing = useApiForm({
    initialValues: { guard: { ...guard } as GuardValues },
    validate: values => validateLimits(values.guard),
    run: values =>
      take(
        api.PATCH('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/', {
          params: { path },
          headers: etag ? { 'if-match': etag } : {},
          body: { guard: toGuard(values.guard) as Guard },
        }),
      ),
    done: texts.saved,
    refresh: ['/api/o/{org}/p/{prj}/a/{app}/e/{evt}/'],
    onDone: close,
  });
  const { form } = editing;
  return (
    <FormModal of={editing} title={texts.guards} submit={texts.save} permission="event:write" close={close}>
      <Text size="sm" c="dimmed">
        {texts.eventGuardsHint}
      </Text>
      <LimitFields
        limits={eventLimits}
        values={form.values.guard}
        errors={form.errors}
        onChange={next => {
          form.setFieldValue('guard', next);
          form.clearErrors();
        }}
      />
    </FormModal>
  );
}
