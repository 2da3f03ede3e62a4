/** Menu with the actions for a project, an application or an event. */
import { ActionIcon, Menu, Tooltip } from '@mantine/core';
import {
  IconCircleCheck,
  IconCircleOff,
  IconDots,
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlus,
  IconTrash,
} from '@tabler/icons-react';
import { useState } from 'react';
import { useAction } from '../components/actions.tsx';
import { confirmTextIfMore, Deletion } from '../components/deletion.tsx';
import { GuardedItem } from '../components/guarded.tsx';
import { askToPause } from '../pauses/pause-dialog.tsx';
import { texts } from '../texts/events.ts';
import { NameForm, type NameFormProps } from './name-form.tsx';
import {
  changeResource,
  deleteResource,
  nounOf,
  pausePermission,
  pauseResource,
  type ResourcePath,
  resumeResource,
  writePermission,
} from './resource-api.ts';

interface ResourceMenuProps {
  resource: ResourcePath;
  name: string;
  /** Undefined until it is loaded; the item is left out then. */
  paused?: boolean;
  active?: boolean;
  /** Category slug of an event. */
  category?: string;
  onDeleted?: () => void;
  onCreated?: NameFormProps['onCreated'];
}

const icon = { size: 15, stroke: 1.6 };

export function ResourceMenu({ resource, name, paused, active, category, onDeleted, onCreated }: ResourceMenuProps) {
  const [dialog, setDialog] = useState<'create' | 'rename' | 'remove'>();
  const noun = nounOf(resource);
  const below = noun === 'project' ? 'application' : 'event';
  const write = writePermission(noun);
  const slug = resource.evt ?? resource.app ?? resource.prj ?? '';
  const close = () => setDialog(undefined);
  const resume = useAction({
    run: () => resumeResource(resource),
    done: texts.resumedToast(name),
    refresh: ['/api/o/{org}/'],
  });
  const switchOn = useAction({
    run: (on: boolean) => changeResource(resource, { active: on }),
    done: (_, on) => (on ? texts.activatedToast(name) : texts.deactivatedToast(name)),
    refresh: ['/api/o/{org}/'],
  });

  return (
    <>
      <Menu position="bottom-end" width={210} shadow="md" keepMounted={false}>
        <Menu.Target>
          <Tooltip label={texts.moreActions}>
            <ActionIcon variant="subtle" color="gray" aria-label={texts.moreActionsFor(noun, name)}>
              <IconDots size={17} stroke={1.6} />
            </ActionIcon>
          </Tooltip>
        </Menu.Target>
        <Menu.Dropdown>
          {noun !== 'event' && (
            <GuardedItem
              permission={writePermission(below)}
              icon={<IconPlus {...icon} />}
              onClick={() => setDialog('create')}
            >
              {texts.newNoun(below)}
            </GuardedItem>
          )}
          <GuardedItem permission={write} icon={<IconPencil {...icon} />} onClick={() => setDialog('rename')}>
            {noun === 'event' ? texts.edit : texts.rename}
          </GuardedItem>
          {active !== undefined && (
            <GuardedItem
              permission={write}
              icon={active ? <IconCircleOff {...icon} /> : <IconCircleCheck {...icon} />}
              onClick={() => switchOn.mutate(!active)}
            >
              {active ? texts.deactivate : texts.activate}
            </GuardedItem>
          )}
          {paused !== undefined && (
            <GuardedItem
              permission={pausePermission}
              icon={paused ? <IconPlayerPlay {...icon} /> : <IconPlayerPause {...icon} />}
              onClick={() =>
                paused ? resume.mutate() : askToPause({ name, run: body => pauseResource(resource, body) })
              }
            >
              {paused ? texts.resume : texts.pause}
            </GuardedItem>
          )}
          <Menu.Divider />
          <GuardedItem permission={write} danger icon={<IconTrash {...icon} />} onClick={() => setDialog('remove')}>
            {texts.delete}
          </GuardedItem>
        </Menu.Dropdown>
      </Menu>
      {dialog === 'create' && <NameForm noun={below} resource={resource} close={close} onCreated={onCreated} />}
      {dialog === 'rename' && <NameForm noun={noun} resource={resource} current={{ name, category }} close={close} />}
      <Deletion
        opened={dialog === 'remove'}
        onClose={close}
        what={texts.theNoun(noun, name)}
        confirmText={confirmTextIfMore(`${noun}s`, slug)}
        run={({ dryRun }) => deleteResource(resource, { cascade: true, ...(dryRun && { dry_run: true }) })}
        refresh={['/api/o/{org}/']}
        onDeleted={() => onDeleted?.()}
        leaves={onDeleted !== undefined}
      >
        {texts.deletionHint}
      </Deletion>
    </>
  );
}
