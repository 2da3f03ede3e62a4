/** Writing a layout: HTML on one side, an email in it on the other. */
import { Box, Select, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Layout } from '../api-types.ts';
import { tellSuccess } from '../components/actions.tsx';
import { Section } from '../components/page.tsx';
import { useEvents } from '../components/use-events.ts';
import { errorAt } from '../designer/errors.ts';
import { EmailPreview } from '../designer/preview-email.tsx';
import { scopeOf, usePreview } from '../designer/use-preview.ts';
import { CodeField } from '../editor/code.tsx';
import { EditorPage } from '../editor/editor-page.tsx';
import type { Tagged } from '../editor/use-tagged-draft.ts';
import { to } from '../places.ts';
import { texts } from '../texts/layouts.ts';
import { LayoutHistory } from './layout-history.tsx';
import { sampleBody } from './starter.ts';
import { deleteLayout, type LayoutPlace, useLayoutDraft } from './use-layout-draft.ts';

interface LayoutEditorProps {
  place: LayoutPlace;
  loaded: Tagged<Layout> | undefined;
  /** What a new one is called at first. */
  blankName?: string;
}

export function LayoutEditor({ place, loaded, blankName = '' }: LayoutEditorProps) {
  const { org, prj } = place;
  const drafting = useLayoutDraft(place, loaded, blankName);
  const { draft, change, stored, errors } = drafting;
  const [showsHistory, setShowsHistory] = useState(false);
  const preview = useLayoutPreview(org, prj, draft.body);
  return (
    <EditorPage
      noun="layout"
      name={stored?.name}
      parents={[{ label: texts.layouts, to: to.layouts(org, prj) }]}
      description={prj ? texts.forTheProject(prj) : texts.forAllProjectsOfTheOrganization}
      drafting={drafting}
      permission="template:write"
      isComplete={draft.name.trim() !== ''}
      showHistory={() => setShowsHistory(true)}
      pageOf={id => to.layout(org, id, prj)}
      parentPage={to.layouts(org, prj)}
      remove={({ dryRun }) => deleteLayout(place, stored!.id, dryRun)}
      organization={org}
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
        description={texts.messagesReferToTheLayoutBy}
        value={draft.name}
        onChange={event => change({ name: event.currentTarget.value })}
        placeholder={texts.defaultWord}
        maxLength={255}
        error={errorAt(errors, 'name')}
      />
      <CodeField
        label={texts.html}
        description={texts.htmlWithLiquidTheMessageGoes}
        language="liquid"
        lineNumbers
        value={draft.body}
        onChange={body => change({ body })}
        scope={preview.scope}
        mistakes={preview.mistakes}
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
            tellSuccess(texts.versionIsInTheEditorSave(version));
          }}
        />
      )}
    </EditorPage>
  );
}

/** A preview needs an event: any will do, and somebody may want a certain one. */
function useLayoutPreview(org: string, prj: string | undefined, body: string) {
  const events = (useEvents().data?.events ?? []).filter(event => prj === undefined || event.prj === prj);
  const [chosen, setChosen] = useState<string>();
  const event = events.find(({ path }) => path === chosen) ?? events[0];
  const path = { org, prj: event?.prj ?? '', app: event?.app ?? '', evt: event?.slug ?? '' };
  const { preview, error, mistakes } = usePreview(
    path,
    { message: { subject: texts.sampleMessage, body: sampleBody }, layout: body, channels: ['email'] },
    event !== undefined,
  );
  const shown = preview?.previews[0];
  const layoutVariables = { content: '…', title: '…', preheader: '…', lang: 'en', dir: 'ltr' };
  return {
    content: shown?.content,
    problem: event ? (shown?.problem ?? (error as Error | null)?.message) : texts.createAnEventToSeeA,
    mistakes: mistakes.layout,
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
