/** The layout editor: HTML on one side, a sample email in it on the other. */
import { Box, Select, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Layout } from '../api-types.ts';
import { useUndo } from '../components/actions.tsx';
import { Section } from '../components/page.tsx';
import { useEvents } from '../components/use-events.ts';
import { errorAt } from '../designer/errors.ts';
import { EmailPreview } from '../designer/preview-email.tsx';
import { scopeOf, usePreview } from '../designer/use-preview.ts';
import { CodeField } from '../editor/code.tsx';
import { EditorPage } from '../editor/editor-page.tsx';
import type { TaggedResource } from '../editor/use-tagged-draft.ts';
import { limitsOf } from '../form-fields.ts';
import { to } from '../paths.ts';
import { texts } from '../texts/layouts.ts';
import { LayoutHistory } from './layout-history.tsx';
import { sampleBody } from './starter-layout.ts';
import { deleteLayout, type LayoutScope, useLayoutDraft } from './use-layout-draft.ts';

interface LayoutEditorProps {
  scope: LayoutScope;
  loaded: TaggedResource<Layout> | undefined;
  /** Initial name of a new layout. */
  blankName?: string;
}

export function LayoutEditor({ scope: layoutScope, loaded, blankName = '' }: LayoutEditorProps) {
  const { org, prj } = layoutScope;
  const drafting = useLayoutDraft(layoutScope, loaded, blankName);
  const { draft, change, stored, errors } = drafting;
  const [showsHistory, setShowsHistory] = useState(false);
  const preview = useLayoutPreview(org, prj, draft.body);
  const offerUndo = useUndo();
  return (
    <EditorPage
      noun="layout"
      name={stored?.name}
      parents={[{ label: texts.layouts, to: to.layouts(org, prj) }]}
      description={prj ? texts.forTheProject(prj) : texts.forAllProjects}
      drafting={drafting}
      permission="template:write"
      isComplete={draft.name.trim() !== ''}
      showHistory={() => setShowsHistory(true)}
      pageOf={id => to.layout(org, id, prj)}
      parentPage={to.layouts(org, prj)}
      remove={({ dryRun }) => deleteLayout(layoutScope, stored!.id, dryRun)}
      preview={
        <Section title={texts.preview} aside={preview.chooser}>
          {preview.content && <EmailPreview content={preview.content} />}
          {preview.problem && (
            <Text size="sm" c="var(--mantine-color-error)">
              {preview.problem}
            </Text>
          )}
        </Section>
      }
    >
      <TextInput
        label={texts.name}
        description={texts.nameHint}
        value={draft.name}
        onChange={event => change({ name: event.currentTarget.value })}
        placeholder={texts.defaultName}
        {...limitsOf('NewLayout', 'name')}
        error={errorAt(errors, 'name')}
      />
      <CodeField
        label={texts.html}
        description={texts.htmlHint}
        language="liquid"
        lineNumbers
        value={draft.body}
        onChange={body => change({ body })}
        scope={preview.scope}
        sourceErrors={preview.sourceErrors}
        error={errorAt(errors, 'body')}
        minHeight={420}
        maxHeight="68vh"
      />
      {stored && showsHistory && (
        <LayoutHistory
          org={org}
          prj={prj}
          layout={stored.id}
          body={draft.body}
          close={() => setShowsHistory(false)}
          restore={({ version, body }) => {
            change({ body });
            offerUndo(texts.versionRestored(version), () => change({ body: draft.body }));
          }}
        />
      )}
    </EditorPage>
  );
}

/** A preview needs an event: the first one is used until another is selected. */
function useLayoutPreview(org: string, prj: string | undefined, body: string) {
  const events = (useEvents().data?.events ?? []).filter(event => prj === undefined || event.prj === prj);
  const [chosen, setChosen] = useState<string>();
  const event = events.find(({ path }) => path === chosen) ?? events[0];
  const path = { org, prj: event?.prj ?? '', app: event?.app ?? '', evt: event?.slug ?? '' };
  const { preview, error, sourceErrors } = usePreview(
    path,
    { message: { subject: texts.sampleMessage, body: sampleBody }, layout: body, channels: ['email'] },
    event !== undefined,
  );
  const shown = preview?.previews[0];
  const layoutVariables = { content: '…', title: '…', preheader: '…', lang: 'en', dir: 'ltr' };
  return {
    content: shown?.content,
    problem: event ? (shown?.problem ?? (error as Error | null)?.message) : texts.createAnEventFirst,
    sourceErrors: sourceErrors.layout,
    scope: { ...layoutVariables, ...scopeOf(path, {}, {}) },
    chooser: events.length > 1 && (
      <Box w={220}>
        <Select
          size="xs"
          aria-label={texts.previewWithEvent}
          data={events.map(({ path: value }) => value)}
          value={event?.path ?? null}
          onChange={value => setChosen(value ?? undefined)}
          searchable
          allowDeselect={false}
        />
      </Box>
    ),
  };
}
