/** A layout while it is being written: HTML on one side, an email in it on the other. */
import { ActionIcon, Badge, Box, Button, Menu, Select, Stack, Text, TextInput, Tooltip } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { IconDots, IconHistory, IconTrash } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { api, take } from '../api.ts';
import type { Layout } from '../api-types.ts';
import { GuardedButton, tellSuccess } from '../components/actions.tsx';
import { Conflict } from '../components/conflict.tsx';
import { Deletion } from '../components/deletion.tsx';
import { GuardedItem } from '../components/guarded.tsx';
import { LeaveGuard } from '../components/leave-guard.tsx';
import { Page, Section } from '../components/page.tsx';
import { useEvents } from '../components/use-events.ts';
import { errorAt } from '../designer/errors.ts';
import { EmailPreview } from '../designer/preview-email.tsx';
import { scopeOf, usePreview } from '../designer/use-preview.ts';
import { CodeField } from '../editor/code.tsx';
import { to } from '../places.ts';
import { LayoutHistory } from './layout-history.tsx';
import { sampleBody } from './starter.ts';
import { useLayoutDraft } from './use-layout-draft.ts';

interface LayoutEditorProps {
  org: string;
  prj: string | undefined;
  loaded: { value: Layout; etag: string | null } | undefined;
}

const icon = { size: 14, stroke: 1.6 };

export function LayoutEditor({ org, prj, loaded }: LayoutEditorProps) {
  const navigate = useNavigate();
  const drafting = useLayoutDraft(org, prj, loaded);
  const { draft, change, stored, dirty, errors } = drafting;
  const [dialog, setDialog] = useState<'remove' | 'history'>();
  const [created, setCreated] = useState<number>();
  const save = async (overwrite = false) => {
    const id = await drafting.save(overwrite);
    if (id !== undefined && !stored) setCreated(id);
  };
  useEffect(() => {
    if (created !== undefined) void navigate(to.layout(org, created, prj), { replace: true });
  }, [created, navigate, org, prj]);
  useHotkeys([['mod+S', () => void save()]], []);
  const close = () => setDialog(undefined);
  const [gone, setGone] = useState(false);
  useEffect(() => {
    if (gone) void navigate(to.layouts(org, prj));
  }, [gone, navigate, org, prj]);
  const preview = useLayoutPreview(org, prj, draft.body);

  return (
    <Page
      wide
      title={stored?.name ?? 'New layout'}
      parents={[{ label: 'Layouts', to: to.layouts(org, prj) }]}
      description={prj ? `Of the project ${prj}.` : 'Of the organization, for all its projects.'}
      aside={
        dirty &&
        stored && (
          <Badge variant="default" tt="none">
            not saved
          </Badge>
        )
      }
      actions={
        <>
          {stored && (
            <GuardedButton
              permission="template:read"
              variant="default"
              leftSection={<IconHistory {...icon} />}
              onClick={() => setDialog('history')}
            >
              History
            </GuardedButton>
          )}
          {dirty && stored && (
            <Button variant="subtle" color="gray" onClick={drafting.discard}>
              Discard
            </Button>
          )}
          <GuardedButton
            permission="template:write"
            loading={drafting.saving}
            disabled={(stored && !dirty) || draft.name.trim() === ''}
            onClick={() => void save()}
          >
            {stored ? 'Save' : 'Create'}
          </GuardedButton>
          {stored && (
            <Menu position="bottom-end" shadow="md" keepMounted={false}>
              <Menu.Target>
                <Tooltip label="More">
                  <ActionIcon variant="subtle" color="gray" aria-label="More for this layout">
                    <IconDots size={17} stroke={1.6} />
                  </ActionIcon>
                </Tooltip>
              </Menu.Target>
              <Menu.Dropdown>
                <GuardedItem
                  permission="template:write"
                  danger
                  icon={<IconTrash {...icon} />}
                  onClick={() => setDialog('remove')}
                >
                  Delete layout
                </GuardedItem>
              </Menu.Dropdown>
            </Menu>
          )}
        </>
      }
    >
      <div className="designer">
        <Stack gap="md" miw={0}>
          <TextInput
            label="Name"
            description="Messages choose it by this name. The one named default is that of messages that name none."
            value={draft.name}
            onChange={event => change({ name: event.currentTarget.value })}
            placeholder="default"
            maxLength={255}
            error={errorAt(errors, 'name')}
          />
          <CodeField
            label="HTML"
            description="With Liquid. {{ content }} is where the message stands; {{ title }}, {{ preheader }}, {{ lang }} and {{ dir }} are there too, and every variable of the message."
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
        </Stack>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by itself, so the keyboard must reach it */}
        <section className="beside" aria-label="How it looks" tabIndex={0}>
          <Section title="Preview" aside={preview.chooser}>
            {preview.content && <EmailPreview content={preview.content} />}
            {preview.problem && (
              <Text size="sm" c="var(--mantine-color-error)">
                {preview.problem}
              </Text>
            )}
          </Section>
        </section>
      </div>
      <LeaveGuard dirty={dirty && !gone}>The layout has changes that are not saved. They would be lost.</LeaveGuard>
      <Conflict
        noun="layout"
        opened={drafting.conflict}
        close={drafting.closeConflict}
        reload={() => void drafting.reload()}
        overwrite={() => void save(true)}
      />
      {stored && dialog === 'history' && (
        <LayoutHistory
          org={org}
          prj={prj}
          layout={stored.id}
          body={draft.body}
          close={close}
          restore={({ version, body }) => {
            change({ body });
            tellSuccess(`Version ${version} is in the editor. Save to make it the current one.`);
          }}
        />
      )}
      {stored && (
        <Deletion
          opened={dialog === 'remove'}
          onClose={close}
          what={`the layout ${stored.name}`}
          run={({ dryRun }) => {
            const query = dryRun ? { dry_run: true } : {};
            const layout = stored.id;
            return prj
              ? take(api.DELETE('/api/o/{org}/p/{prj}/l/{layout}/', { params: { path: { org, prj, layout }, query } }))
              : take(api.DELETE('/api/o/{org}/l/{layout}/', { params: { path: { org, layout }, query } }));
          }}
          refresh={[[org]]}
          onDeleted={() => setGone(true)}
          leaves
        />
      )}
    </Page>
  );
}

/** Previews are an event's: any will do, and somebody may want a certain one's words in it. */
function useLayoutPreview(org: string, prj: string | undefined, body: string) {
  const events = (useEvents().data?.events ?? []).filter(event => prj === undefined || event.prj === prj);
  const [chosen, setChosen] = useState<string>();
  const event = events.find(({ path }) => path === chosen) ?? events[0];
  const path = { org, prj: event?.prj ?? '', app: event?.app ?? '', evt: event?.slug ?? '' };
  const { preview, error, mistakes } = usePreview(
    path,
    { message: { subject: 'A message in this layout', body: sampleBody }, layout: body, channels: ['email'] },
    event !== undefined,
  );
  const shown = preview?.previews[0];
  const layoutVariables = { content: '…', title: '…', preheader: '…', lang: 'en', dir: 'ltr' };
  return {
    content: shown?.content,
    problem: event
      ? (shown?.problem ?? (error as Error | null)?.message)
      : 'A preview needs an event to stand for. Create one, then look again.',
    mistakes: mistakes.layout,
    scope: { ...layoutVariables, ...scopeOf(path, {}, {}) },
    chooser: events.length > 1 && (
      <Box w={220}>
        <Select
          size="xs"
          aria-label="As for the event"
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
