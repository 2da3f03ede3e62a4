/** The forms of a notification on one side, what they make of it on the other. */
import { ActionIcon, Badge, Button, Menu, Modal, Stack, TextInput, Tooltip } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { IconDots, IconEye, IconHistory, IconSend, IconTrash } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { api, take } from '../api.ts';
import { media, type Simulation } from '../api-types.ts';
import { GuardedButton, tellSuccess, useAction } from '../components/actions.tsx';
import { Conflict } from '../components/conflict.tsx';
import { Deletion } from '../components/deletion.tsx';
import { GuardedItem } from '../components/guarded.tsx';
import { LeaveGuard } from '../components/leave-guard.tsx';
import { Page } from '../components/page.tsx';
import { type EventPath, format, parseObject, useSample } from '../events/sample.ts';
import { SimulationView } from '../events/simulation-view.tsx';
import { useLayouts } from '../layouts/use-layouts.ts';
import { to } from '../places.ts';
import { Condition } from './condition.tsx';
import { previewOf, type Variant } from './draft.ts';
import { errorAt } from './errors.ts';
import { Message } from './message.tsx';
import { MissingVariables } from './missing.tsx';
import { Previews } from './previews.tsx';
import { Reader } from './reader.tsx';
import { Recipients } from './recipients.tsx';
import { fillIn } from './sample-gaps.ts';
import { SendTest } from './send-test.tsx';
import { Sending } from './sending.tsx';
import type { UsableChannel } from './use-channels.ts';
import { type Loaded, useDraft } from './use-draft.ts';
import { scopeOf, usePreview } from './use-preview.ts';
import { Versions } from './versions.tsx';

interface DesignerProps {
  path: EventPath;
  loaded: Loaded | undefined;
  channels: UsableChannel[];
}

/** Those that are worth seeing, whether or not a channel of the kind exists. */
const shownKinds = ['email', 'sms', 'slack', 'teams', 'webpush', 'inbox', 'webhook'];
const icon = { size: 14, stroke: 1.6 };

export function Designer({ path, loaded, channels }: DesignerProps) {
  const { org, prj, app, evt } = path;
  const navigate = useNavigate();
  const sample = useSample(path);
  const drafting = useDraft(
    path,
    loaded,
    channels.slice(0, 1).map(({ slug }) => slug),
  );
  const { draft, change, stored, dirty, errors } = drafting;
  const [variant, setVariant] = useState<Variant>({ channel: '', locale: '' });
  const [everyKind, setEveryKind] = useState(false);
  const [reader, setReader] = useState<string>();
  const [dialog, setDialog] = useState<'test' | 'versions' | 'remove'>();
  const [created, setCreated] = useState<number>();
  const layouts = useLayouts(org, prj);
  const context = sample.context ?? {};
  const kinds = everyKind ? [...shownKinds, ...media.filter(type => channels.some(one => one.type === type))] : [];
  const wanted = [...new Set([...draft.channels, ...kinds])];
  const { preview, error, mistakes, working } = usePreview(path, {
    ...previewOf(draft, context),
    ...(wanted.length > 0 && { channels: wanted }),
    ...(reader && { user: reader }),
  });
  const simulation = useAction({
    run: () =>
      take(api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/simulate/', { params: { path }, body: { context } })),
  });
  const save = async (overwrite = false) => {
    const id = await drafting.save(overwrite);
    if (id !== undefined && !stored) setCreated(id);
  };
  // Once nothing is unsaved any more, so that the guard lets it through.
  useEffect(() => {
    if (created !== undefined) void navigate(to.notification(org, prj, app, evt, created), { replace: true });
  }, [created, navigate, org, prj, app, evt]);
  useHotkeys([['mod+S', () => void save()]], []);
  const close = () => setDialog(undefined);
  const [gone, setGone] = useState(false);
  const leave = () => setGone(true);
  useEffect(() => {
    if (gone) void navigate(to.event(org, prj, app, evt));
  }, [gone, navigate, org, prj, app, evt]);
  const scope = scopeOf(path, context, parseObject(draft.extraContext).context ?? {});
  const unreadable = parseObject(draft.extraContext).mistake !== undefined;
  const own = channels.filter(({ slug, type }) => draft.channels.includes(slug) || draft.channels.includes(type));

  return (
    <Page
      wide
      title={stored?.name ?? 'New notification'}
      documentTitle={`${stored?.name ?? 'New notification'} · ${evt}`}
      parents={[
        { label: 'Events', to: to.events(org) },
        { label: prj, to: to.events(org, prj) },
        { label: `${app}/${evt}`, to: to.event(org, prj, app, evt) },
      ]}
      aside={
        <>
          {dirty && stored && (
            <Badge variant="default" tt="none">
              not saved
            </Badge>
          )}
          {stored && (
            <Badge variant="default" tt="none" fw={400}>
              version {stored.version}
            </Badge>
          )}
        </>
      }
      actions={
        <>
          {stored && (
            <>
              <GuardedButton
                permission="event:trigger"
                variant="default"
                leftSection={<IconEye {...icon} />}
                loading={simulation.isPending}
                onClick={() => simulation.mutate(undefined)}
              >
                Simulate
              </GuardedButton>
              <GuardedButton
                permission="event:trigger"
                variant="default"
                leftSection={<IconSend {...icon} />}
                onClick={() => setDialog('test')}
              >
                Send a test
              </GuardedButton>
              <GuardedButton
                permission="template:read"
                variant="default"
                leftSection={<IconHistory {...icon} />}
                onClick={() => setDialog('versions')}
              >
                History
              </GuardedButton>
            </>
          )}
          {dirty && stored && (
            <Button variant="subtle" color="gray" onClick={drafting.discard}>
              Discard
            </Button>
          )}
          <GuardedButton
            permission="notification:write"
            loading={drafting.saving}
            disabled={(stored && !dirty) || unreadable || draft.name.trim() === ''}
            onClick={() => void save()}
          >
            {stored ? 'Save' : 'Create'}
          </GuardedButton>
          {stored && (
            <Menu position="bottom-end" shadow="md" keepMounted={false}>
              <Menu.Target>
                <Tooltip label="More">
                  <ActionIcon variant="subtle" color="gray" aria-label="More for this notification">
                    <IconDots size={17} stroke={1.6} />
                  </ActionIcon>
                </Tooltip>
              </Menu.Target>
              <Menu.Dropdown>
                <GuardedItem
                  permission="notification:write"
                  danger
                  icon={<IconTrash {...icon} />}
                  onClick={() => setDialog('remove')}
                >
                  Delete notification
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
            value={draft.name}
            onChange={event => change({ name: event.currentTarget.value })}
            placeholder="Such as receipt"
            maxLength={255}
            error={errorAt(errors, 'name')}
          />
          <Recipients path={path} draft={draft} change={change} errors={errors} matches={preview?.users} />
          <Sending draft={draft} change={change} errors={errors} channels={channels} />
          {stored && <MissingVariables missing={stored.missing_variables} />}
          <Message
            draft={draft}
            change={change}
            errors={errors}
            mistakes={mistakes}
            scope={scope}
            channels={channels}
            layouts={layouts.names}
            variant={variant}
            setVariant={setVariant}
          />
          <Condition
            path={path}
            sample={sample}
            draft={draft}
            change={change}
            errors={errors}
            result={preview?.filter}
          />
        </Stack>
        {/* Scrolls by itself, so the keyboard must reach it. */}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
        <section className="beside" aria-label="How it looks" tabIndex={0}>
          <Previews
            preview={preview}
            error={error}
            working={working}
            everyKind={everyKind}
            setEveryKind={setEveryKind}
            addToSample={names => sample.setText(format(fillIn(context, names)))}
            reader={<Reader value={reader} onChange={setReader} usual={preview?.user} />}
          />
        </section>
      </div>
      <LeaveGuard dirty={dirty && !gone}>
        The notification has changes that are not saved. They would be lost.
      </LeaveGuard>
      <Conflict
        noun="notification"
        opened={drafting.conflict}
        close={drafting.closeConflict}
        reload={() => void drafting.reload()}
        overwrite={() => void save(true)}
      />
      <Simulated simulation={simulation.data} only={stored?.name} dirty={dirty} close={simulation.reset} />
      {stored && dialog === 'test' && (
        <SendTest
          path={path}
          notification={stored.id}
          channels={[...own, ...channels.filter(channel => !own.includes(channel))]}
          context={context}
          user={reader}
          dirty={dirty}
          close={close}
        />
      )}
      {stored && dialog === 'versions' && (
        <Versions
          path={path}
          notification={stored.id}
          draft={draft}
          close={close}
          restore={({ version, message, overrides }) => {
            change({ message, overrides: overrides ?? {} });
            setVariant({ channel: '', locale: '' });
            tellSuccess(`Version ${version} is in the editor. Save to make it the current one.`);
          }}
        />
      )}
      {stored && (
        <Deletion
          opened={dialog === 'remove'}
          onClose={close}
          what={`the notification ${stored.name}`}
          run={({ dryRun }) =>
            take(
              api.DELETE('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/', {
                params: { path: { ...path, notification: stored.id }, query: dryRun ? { dry_run: true } : {} },
              }),
            )
          }
          refresh={[[org]]}
          onDeleted={leave}
          leaves
        >
          What was sent already stays in the history.
        </Deletion>
      )}
    </Page>
  );
}

interface SimulatedProps {
  simulation: Simulation | undefined;
  only: string | undefined;
  dirty: boolean;
  close: () => void;
}

function Simulated({ simulation, only, dirty, close }: SimulatedProps) {
  return (
    <Modal
      opened={simulation !== undefined}
      onClose={close}
      size="lg"
      title={dirty ? 'Simulation of what was saved last' : 'Simulation'}
    >
      {simulation && <SimulationView simulation={simulation} only={only} />}
    </Modal>
  );
}
