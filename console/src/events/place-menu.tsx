/** What can be done with a project, an application or an event, behind one button. */
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
import { Deletion, typedIfMore } from '../components/deletion.tsx';
import { GuardedItem } from '../components/guarded.tsx';
import { texts } from '../texts/events.ts';
import { NameForm, type NameFormProps } from './name-form.tsx';
import { changePlace, deletePlace, holdPlace, nounOf, type Place, pausePermission, writePermission } from './places.ts';

interface PlaceMenuProps {
  place: Place;
  name: string;
  /** Unknown until it is read: then the item is left out. */
  paused?: boolean;
  active?: boolean;
  /** Of an event; slug. */
  category?: string;
  onDeleted?: () => void;
  onCreated?: NameFormProps['onCreated'];
}

const icon = { size: 15, stroke: 1.6 };

export function PlaceMenu({ place, name, paused, active, category, onDeleted, onCreated }: PlaceMenuProps) {
  const [dialog, setDialog] = useState<'create' | 'rename' | 'remove'>();
  const noun = nounOf(place);
  const below = noun === 'project' ? 'application' : 'event';
  const write = writePermission(noun);
  const slug = place.evt ?? place.app ?? place.prj ?? '';
  const close = () => setDialog(undefined);
  const hold = useAction({
    run: (on: boolean) => holdPlace(place, on),
    done: (_, on) => (on ? texts.pausedMessagesAreKeptUntilYou(name) : texts.resumed(name)),
    refresh: [[place.org]],
  });
  const switchOn = useAction({
    run: (on: boolean) => changePlace(place, { active: on }),
    done: (_, on) => (on ? texts.activated(name) : texts.deactivatedTriggersAreRefused(name)),
    refresh: [[place.org]],
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
              {texts.newWord2(below)}
            </GuardedItem>
          )}
          <GuardedItem permission={write} icon={<IconPencil {...icon} />} onClick={() => setDialog('rename')}>
            {noun === 'event' ? texts.edit : texts.rename2}
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
              onClick={() => hold.mutate(!paused)}
            >
              {paused ? texts.resume : texts.pause}
            </GuardedItem>
          )}
          <Menu.Divider />
          <GuardedItem permission={write} danger icon={<IconTrash {...icon} />} onClick={() => setDialog('remove')}>
            {texts.deleteWord}
          </GuardedItem>
        </Menu.Dropdown>
      </Menu>
      {dialog === 'create' && <NameForm noun={below} place={place} close={close} onCreated={onCreated} />}
      {dialog === 'rename' && <NameForm noun={noun} place={place} current={{ name, category }} close={close} />}
      <Deletion
        opened={dialog === 'remove'}
        onClose={close}
        what={texts.the(noun, name)}
        typed={typedIfMore(`${noun}s`, slug)}
        run={({ dryRun }) => deletePlace(place, { cascade: true, ...(dryRun && { dry_run: true }) })}
        refresh={[[place.org]]}
        onDeleted={() => onDeleted?.()}
        leaves={onDeleted !== undefined}
      >
        {texts.sentMessagesStayInTheHistory}
      </Deletion>
    </>
  );
}
