/** A CSV file into a list: look at it, say what its columns are, try it without changing anything, then do it. */
import {
  Alert,
  Progress as Bar,
  Box,
  Button,
  Checkbox,
  Group,
  Select,
  SimpleGrid,
  Stack,
  Table,
  Text,
} from '@mantine/core';
import { IconAlertTriangle, IconDownload, IconFileTypeCsv } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Link, useParams } from 'react-router';
import { GuardedButton, tellFailure } from '../../components/actions.tsx';
import { CopyBlock } from '../../components/copy.tsx';
import { count } from '../../components/counts.tsx';
import { FormFailure } from '../../components/form.tsx';
import { Page, Section } from '../../components/page.tsx';
import { to, useOrg } from '../../places.ts';
import { texts } from '../../texts/lists.ts';
import { FileDrop } from './file-drop.tsx';
import { choicesFor, guessAll, leftOut, looksLikeData, type Target } from './import-fields.ts';
import { download, errorFile, type Progress, preview, runImport } from './import-run.ts';
import { useDistributionList } from './list.tsx';
import { listKey, listsKey } from './list-key.ts';

interface Chosen {
  file: File;
  rows: string[][];
  delimiter: string;
}

export default function ImportPage() {
  const org = useOrg();
  const { prj = '', pk: text = '' } = useParams();
  const pk = Number(text);
  const { data: list } = useDistributionList(prj, pk);
  const [chosen, setChosen] = useState<Chosen>();
  const [problem, setProblem] = useState<string>();
  const choose = async (file: File | undefined) => {
    setProblem(undefined);
    setChosen(undefined);
    if (!file) return;
    try {
      const { rows, delimiter } = await preview(file);
      if (rows.length === 0) setProblem(`${file.name} is empty.`);
      else setChosen({ file, rows, delimiter });
    } catch (error) {
      tellFailure(error);
    }
  };
  const name = list?.value.name ?? texts.list;
  return (
    <Page
      title={texts.importInto(name)}
      parents={[
        { label: texts.lists, to: to.lists(org, prj) },
        { label: name, to: to.list(org, prj, pk) },
      ]}
      description={texts.newPeopleAreCreatedExistingOnes}
    >
      <Stack maw={960}>
        {chosen ? (
          <Steps
            key={chosen.file.name}
            chosen={chosen}
            place={{ org, prj, pk }}
            another={() => void choose(undefined)}
          />
        ) : (
          <>
            <FileDrop onFile={file => void choose(file)} />
            {problem && (
              <Alert color="red" icon={<IconAlertTriangle size={18} />} role="alert">
                {problem}
              </Alert>
            )}
            <Section title={texts.fileFormat}>
              <Text size="sm" c="dimmed" mb="xs">
                {texts.oneRowPerPersonOnlyThe}
              </Text>
              <Text size="sm" c="dimmed" mb="xs">
                {texts.optOutMeaning}
              </Text>
              <CopyBlock
                label={texts.copyTheExample}
                value={
                  'email,first_name,last_name,locale,phone,opt_out,custom.tier\nada@acme.test,Ada,Lovelace,en,+15555550100,news,gold'
                }
              />
            </Section>
          </>
        )}
      </Stack>
    </Page>
  );
}

interface StepsProps {
  chosen: Chosen;
  place: { org: string; prj: string; pk: number };
  another: () => void;
}

function Steps({ chosen: { file, rows, delimiter }, place, another }: StepsProps) {
  const queries = useQueryClient();
  const [headed, setHeaded] = useState(() => !looksLikeData(rows[0] ?? []));
  const width = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const headers = Array.from({ length: width }, (_, i) => (headed && rows[0]?.[i]?.trim()) || texts.column(i + 1));
  const body = headed ? rows.slice(1) : rows;
  const [targets, setTargets] = useState(() => guessAll(headers, body));
  const [trial, setTrial] = useState<Progress>();
  const [result, setResult] = useState<Progress>();
  const [running, setRunning] = useState<'trial' | 'import'>();
  const [error, setError] = useState<unknown>();
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);

  const map = (at: number, target: Target) => {
    // One column for each field: the column that had it before is left out.
    setTargets(targets.map((each, i) => (i === at ? target : each === target ? leftOut : each)));
    setTrial(undefined);
  };
  const run = async (kind: 'trial' | 'import') => {
    const controller = new AbortController();
    stop.current = controller;
    setRunning(kind);
    setError(undefined);
    const onProgress = kind === 'trial' ? setTrial : setResult;
    try {
      const mapping = { targets, headed };
      const dryRun = kind === 'trial';
      await runImport({ file, place, mapping, delimiter, dryRun, signal: controller.signal, onProgress });
    } catch (failure) {
      if (!controller.signal.aborted) setError(failure);
    } finally {
      setRunning(undefined);
      if (kind === 'import') {
        const { org, prj, pk } = place;
        const touched = [listKey(org, prj, pk), listsKey(org, prj), [org, 'users'], [org, 'user']];
        for (const queryKey of touched) void queries.invalidateQueries({ queryKey });
      }
    }
  };
  const ready = targets.includes('email');
  const hasOptOuts = targets.includes('opt_out');
  const fileLine = `${file.name}, ${size(file.size)}`;
  return (
    <>
      <Section
        title={texts.n1File}
        aside={
          <Button variant="default" onClick={another} disabled={running !== undefined}>
            {texts.chooseAnotherFile}
          </Button>
        }
      >
        <Group justify="space-between" mb="xs">
          <Text size="sm">{fileLine}</Text>
          <Checkbox
            label={texts.firstRowContainsColumnNames}
            checked={headed}
            disabled={running !== undefined || result !== undefined}
            onChange={({ currentTarget }) => {
              setHeaded(currentTarget.checked);
              setTrial(undefined);
            }}
          />
        </Group>
        <Preview headers={headers} rows={body.slice(0, 5)} />
      </Section>
      <Section title={texts.n2Columns}>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="sm">
          {headers.map((header, i) => (
            <Select
              // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other name that is surely theirs
              key={i}
              label={header}
              description={
                body
                  .slice(0, 2)
                  .map(row => row[i])
                  .filter(Boolean)
                  .join(', ')
                  .slice(0, 60) || texts.empty
              }
              data={choicesFor(header)}
              value={targets[i] === leftOut ? 'leave-out' : targets[i]}
              onChange={value => map(i, value === 'leave-out' || !value ? leftOut : value)}
              allowDeselect={false}
              disabled={running !== undefined || result !== undefined}
            />
          ))}
        </SimpleGrid>
        {hasOptOuts && (
          <Text size="sm" c="dimmed" mt="sm">
            {texts.optOutMeaning}
          </Text>
        )}
        {!ready && (
          <Text size="sm" c="var(--mantine-color-error)" mt="sm" role="alert">
            {texts.chooseTheColumnWithTheEmail}
          </Text>
        )}
      </Section>
      {!result && (
        <Section title={texts.n3Check}>
          <Text size="sm" c="dimmed" mb="sm">
            {texts.checksTheWholeFileWithoutChanging}
          </Text>
          <Group>
            <GuardedButton
              permission="distributionlist:write"
              variant={trial?.done ? 'default' : 'filled'}
              disabled={!ready || running !== undefined}
              onClick={() => void run('trial')}
            >
              {trial?.done ? texts.checkAgain : texts.checkFile}
            </GuardedButton>
            {running === 'trial' && <Stop stop={() => stop.current?.abort()} />}
          </Group>
          {trial && <Outcome progress={trial} headers={headers} hasOptOuts={hasOptOuts} trial />}
        </Section>
      )}
      {(trial?.done || result) && (
        <Section title={texts.n4Import}>
          {!result?.done && (
            <Group mb="sm">
              <GuardedButton
                permission="distributionlist:write"
                disabled={running !== undefined || !ready}
                onClick={() => void run('import')}
              >
                {texts.importRows(count((trial?.rows ?? 0) - badRows(trial)))}
              </GuardedButton>
              {running === 'import' && <Stop stop={() => stop.current?.abort()} />}
              {running === undefined && badRows(trial) > 0 && (
                <Text size="sm" c="dimmed">
                  {texts.rowsWithErrorsWillBeSkipped(count(badRows(trial)))}
                </Text>
              )}
            </Group>
          )}
          {result && <Outcome progress={result} headers={headers} hasOptOuts={hasOptOuts} />}
          {result?.done && (
            <Group mt="sm">
              <Button component={Link} to={to.list(place.org, place.prj, place.pk)}>
                {texts.openList}
              </Button>
            </Group>
          )}
        </Section>
      )}
      <FormFailure error={error} />
      {Boolean(error) && result && (
        <Text size="sm" c="dimmed">
          {texts.rowsImportedSoFarAreKept}
        </Text>
      )}
    </>
  );
}

function badRows(progress: Progress | undefined): number {
  return new Set(progress?.errors.map(({ line }) => line)).size + (progress?.moreErrors ?? 0);
}

function size(bytes: number): string {
  if (bytes < 1_000) return texts.bytes(bytes);
  return bytes < 1_000_000 ? texts.kb(Math.round(bytes / 1_000)) : texts.mb((bytes / 1_000_000).toFixed(1));
}

function Stop({ stop }: { stop: () => void }) {
  return (
    <Button variant="default" onClick={stop}>
      {texts.stop}
    </Button>
  );
}

function Preview({ headers, rows }: { headers: string[]; rows: string[][] }) {
  return (
    <Box style={{ overflowX: 'auto' }} tabIndex={0} role="region" aria-label={texts.firstRowsOfTheFile}>
      <Table className="table" fz="xs" verticalSpacing={5}>
        <caption hidden>{texts.theFirstRows}</caption>
        <Table.Thead>
          <Table.Tr>
            {headers.map((header, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have the same name
              <Table.Th key={i} scope="col">
                {header}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, y) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of a file are told apart by where they stand
            <Table.Tr key={y}>
              {headers.map((_, x) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above
                <Table.Td key={x} style={{ whiteSpace: 'nowrap' }}>
                  {row[x]}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}

const shownErrors = 10;

interface OutcomeProps {
  progress: Progress;
  headers: string[];
  /** Whether a column says who opted out. */
  hasOptOuts: boolean;
  trial?: boolean;
}

function Outcome({ progress, headers, hasOptOuts, trial = false }: OutcomeProps) {
  const { share, done, rows, added, existing, created_users, updated_users, opt_outs, errors, moreErrors } = progress;
  const numbers = [
    ['rows', rows],
    [trial ? texts.willBeAdded : 'added', added],
    [texts.alreadyMembers, existing],
    [trial ? texts.newPeople : texts.newPeople, created_users],
    [trial ? texts.peopleToUpdate : texts.peopleUpdated, updated_users],
    ...(hasOptOuts ? [[trial ? texts.willOptOut : texts.optedOut, opt_outs] as const] : []),
    ['errors', errors.length + moreErrors],
  ] as const;
  return (
    <Stack gap="sm" mt="sm">
      {!done && <Bar value={share * 100} aria-label={trial ? texts.checking : texts.importing} animated />}
      <Group gap="lg" aria-live="polite">
        {numbers.map(([label, value]) => (
          <div key={label}>
            <Text fw={600} className="numbers">
              {count(value)}
            </Text>
            <Text size="xs" c="dimmed">
              {label}
            </Text>
          </div>
        ))}
      </Group>
      {errors.length > 0 && (
        <Alert color="yellow" icon={<IconAlertTriangle size={18} />} title={texts.rowsWithErrors}>
          <Stack gap={4}>
            {errors.slice(0, shownErrors).map(({ line, field, message }) => (
              <Text key={`${line} ${field} ${message}`} size="sm">
                {texts.row} {line}: {field && `${field} `}
                {message}
              </Text>
            ))}
            {errors.length > shownErrors && (
              <Text size="sm" c="dimmed">
                {texts.andMore2(count(errors.length + moreErrors - shownErrors))}
              </Text>
            )}
            <div>
              <Button
                variant="default"
                mt={4}
                leftSection={<IconDownload size={15} stroke={1.6} />}
                onClick={() => download('rows-with-errors.csv', errorFile(headers, errors))}
              >
                {texts.downloadAsCsv}
              </Button>
            </div>
          </Stack>
        </Alert>
      )}
      {done && errors.length === 0 && trial && (
        <Group gap={6}>
          <IconFileTypeCsv size={18} stroke={1.6} aria-hidden />
          <Text size="sm">{texts.noErrorsFound}</Text>
        </Group>
      )}
    </Stack>
  );
}
