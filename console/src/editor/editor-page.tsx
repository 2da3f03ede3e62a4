/** Page of an editor: forms on one side, a preview on the other. */
import { ActionIcon, Badge, Button, Group, Menu, Stack, Tooltip } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { IconDots, IconHistory, IconTrash } from '@tabler/icons-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import type { Deleted } from '../api-types.ts';
import { GuardedButton, useUndo } from '../components/actions.tsx';
import { Conflict, type ConflictInfo } from '../components/conflict.tsx';
import { Deletion } from '../components/deletion.tsx';
import { GuardedItem } from '../components/guarded.tsx';
import { Page } from '../components/page.tsx';
import { useCan } from '../session.tsx';
import { texts } from '../texts/designer.ts';

interface EditorPageProps {
  /** Noun of the edited resource, for use in a sentence. */
  noun: string;
  /** Undefined for a new resource. */
  name: string | undefined;
  documentTitle?: string;
  description?: string;
  parents: { label: string; to: string }[];
  badges?: ReactNode;
  drafting: {
    isDirty: boolean;
    isSaving: boolean;
    conflict: ConflictInfo | undefined;
    save: (options?: { overwrite?: boolean }) => Promise<number | undefined>;
    takeTheirs: () => void;
    discard: () => () => void;
    keepEditing: () => void;
  };
  /** Permission that saving and deleting need. */
  permission: string;
  /** Whether the draft can be saved. */
  isComplete: boolean;
  /** Further actions for a stored resource. */
  actions?: ReactNode;
  showHistory: () => void;
  /** Returns the page of a newly created resource. */
  pageOf: (id: number) => string;
  /** Page to open after deletion. */
  parentPage: string;
  remove: (options: { dryRun: boolean }) => Promise<Deleted>;
  removeNote?: string;
  preview: ReactNode;
  children: ReactNode;
}

const icon = { size: 14, stroke: 1.6 };

export function EditorPage(props: EditorPageProps) {
  const { noun, name, drafting, permission, isComplete } = props;
  const { isDirty, isSaving } = drafting;
  const isStored = name !== undefined;
  const navigate = useNavigate();
  const [isDeleting, setDeleting] = useState(false);
  const [next, setNext] = useState<{ path: string; replace: boolean }>();
  const save = async (overwrite = false) => {
    const id = await drafting.save({ overwrite });
    if (id !== undefined && !isStored) setNext({ path: props.pageOf(id), replace: true });
  };
  const canSave = useCan()(permission) && !isSaving && isComplete && (isDirty || !isStored);
  useHotkeys([['mod+S', () => void (canSave && save())]], []);
  const offerUndo = useUndo();
  // Navigates after the draft has settled; otherwise the tab would keep it as unsaved.
  useEffect(() => {
    if (next) void navigate(next.path, { replace: next.replace });
  }, [next, navigate]);

  return (
    <Page
      wide
      title={name ?? texts.newNoun(noun)}
      documentTitle={props.documentTitle}
      description={props.description}
      parents={props.parents}
      aside={props.badges}
      actions={
        <>
          {isStored && (
            <>
              {props.actions}
              <GuardedButton
                permission="template:read"
                variant="default"
                leftSection={<IconHistory {...icon} />}
                onClick={props.showHistory}
              >
                {texts.history}
              </GuardedButton>
            </>
          )}
          {isStored && (
            <Menu position="bottom-end" shadow="md" keepMounted={false}>
              <Menu.Target>
                <Tooltip label={texts.more}>
                  <ActionIcon variant="subtle" color="gray" aria-label={texts.moreActionsForThis(noun)}>
                    <IconDots size={17} stroke={1.6} />
                  </ActionIcon>
                </Tooltip>
              </Menu.Target>
              <Menu.Dropdown>
                <GuardedItem
                  permission={permission}
                  danger
                  icon={<IconTrash {...icon} />}
                  onClick={() => setDeleting(true)}
                >
                  {texts.deleteNoun(noun)}
                </GuardedItem>
              </Menu.Dropdown>
            </Menu>
          )}
        </>
      }
    >
      <div className="designer">
        <Stack gap="md" miw={0}>
          {props.children}
        </Stack>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on its own, so it must be reachable by keyboard */}
        <section className="beside" aria-label={texts.previewPane} tabIndex={0}>
          {props.preview}
        </section>
      </div>
      <Group className="stickybar" data-page justify="flex-end" gap="xs">
        {isDirty && isStored && (
          <Badge variant="default" tt="none">
            {texts.unsavedChanges}
          </Badge>
        )}
        {isDirty && (
          <Button variant="subtle" color="gray" onClick={() => offerUndo(texts.changesDiscarded, drafting.discard())}>
            {texts.discard}
          </Button>
        )}
        <GuardedButton
          permission={permission}
          loading={isSaving}
          disabled={(isStored && !isDirty) || !isComplete}
          onClick={() => void save()}
        >
          {isStored ? texts.save : texts.create}
        </GuardedButton>
      </Group>
      <Conflict
        noun={noun}
        conflict={drafting.conflict}
        close={drafting.keepEditing}
        reload={drafting.takeTheirs}
        overwrite={() => void save(true)}
      />
      {isStored && (
        <Deletion
          opened={isDeleting}
          onClose={() => setDeleting(false)}
          what={texts.theNoun(noun, name)}
          run={props.remove}
          refresh={['/api/o/{org}/']}
          onDeleted={() => {
            drafting.discard();
            setNext({ path: props.parentPage, replace: false });
          }}
          leaves
        >
          {props.removeNote}
        </Deletion>
      )}
    </Page>
  );
}
