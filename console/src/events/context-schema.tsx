/** Shows and edits the JSON Schema of an event's context. */
import { Anchor, Text } from '@mantine/core';
import { useState } from 'react';
import { api, take } from '../api.ts';
import { GuardedButton } from '../components/actions.tsx';
import { FormModal, useApiForm } from '../components/api-form.tsx';
import { errorsBelow } from '../components/form.tsx';
import { JsonEditor } from '../components/json-editor.tsx';
import { JsonView } from '../components/json-view.tsx';
import { Section } from '../components/page.tsx';
import { texts } from '../texts/events.ts';
import { type EventPath, format, parseObject } from './sample.ts';

interface ContextSchemaProps {
  path: EventPath;
  schema: Record<string, unknown> | null;
  /** ETag that the change is sent with. */
  etag: string | null;
}

export function ContextSchema({ path, schema, etag }: ContextSchemaProps) {
  const [isEditing, setIsEditing] = useState(false);
  return (
    <Section
      title={texts.contextSchema}
      aside={
        <GuardedButton permission="event:write" variant="subtle" onClick={() => setIsEditing(true)}>
          {schema ? texts.editSchema : texts.addASchema}
        </GuardedButton>
      }
    >
      {schema ? (
        <JsonView value={schema} label={texts.contextSchema} maxHeight={260} />
      ) : (
        <Text size="sm" c="dimmed">
          {texts.anyContextIsAccepted}
        </Text>
      )}
      {isEditing && <SchemaForm path={path} schema={schema} etag={etag} close={() => setIsEditing(false)} />}
    </Section>
  );
}

const starter = format({
  type: 'object',
  required: ['order'],
  properties: { order: { type: 'string', examples: ['A-1042'] } },
});

function SchemaForm({ path, schema, etag, close }: ContextSchemaProps & { close: () => void }) {
  const editing = useApiForm({
    initialValues: { context_schema: schema ? format(schema) : starter },
    validate: ({ context_schema: text }): Record<string, string> => {
      const { problem } = parseObject(text);
      return problem ? { context_schema: problem } : {};
    },
    run: ({ context_schema: text }) =>
      take(
        api.PATCH('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/', {
          params: { path },
          headers: etag ? { 'if-match': etag } : {},
          body: { context_schema: text.trim() === '' ? null : parseObject(text).context! },
        }),
      ),
    done: texts.saved,
    refresh: ['/api/o/{org}/p/{prj}/a/{app}/e/{evt}/'],
    onDone: close,
  });
  const { form } = editing;
  const errors = form.errors as Record<string, string>;
  const below = Object.entries(errorsBelow(errors, 'context_schema')).map(([at, message]) => `${at}: ${message}`);
  return (
    <FormModal of={editing} title={texts.contextSchema} submit={texts.save} size="lg" close={close}>
      <Text size="sm" c="dimmed">
        {texts.schemaHint}{' '}
        <Anchor
          href="https://json-schema.org/learn/getting-started-step-by-step"
          target="_blank"
          inherit
          underline="always"
        >
          {texts.learnJsonSchema}
        </Anchor>
      </Text>
      <JsonEditor
        label={texts.jsonSchema}
        description={texts.emptySchemaHint}
        value={form.values.context_schema}
        onChange={text => {
          form.setFieldValue('context_schema', text);
          form.clearErrors();
        }}
        error={below.length > 0 ? below.join('\n') : errors.context_schema}
      />
    </FormModal>
  );
}
