/** Imports a CSV file into a list: preview, map the columns, check without changes, import. */
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
import { GuardedButton, showError } from '../../components/actions.tsx';
import { CopyBlock } from '../../components/copy.tsx';
import { count } from '../../components/counts.tsx';
import { FormFailure } from '../../components/form.tsx';
import { Page, Section } from '../../components/page.tsx';
import { to, useOrg } from '../../paths.ts';
import { refreshAll } from '../../queries.ts';
import { texts } from '../../texts/lists.ts';
import { FileDrop } from './file-drop.tsx';
import { choicesFor, guessAll, looksLikeData, notImported, type Target } from './import-fields.ts';
import { download, errorFile, type Progress, preview, runImport } from './import-run.ts';
import { useDistributionList } from './list.tsx';

interface ChosenFile {
  file: File;
  rows: string[][];
  delimiter: string;
}

export default function ImportPage() {
  const org = useOrg();
  const { prj = '', pk: text = '' } = useParams();
  const pk = Number(text);
  const { data: list } = useDistributionList(prj, pk);
  const [chosen, setChosen] = useState<ChosenFile>();
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
      showError(error);
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
      description={texts.importHint}
    >
      <Stack maw={960}>
        {chosen ? (
          <Steps
            key={chosen.file.name}
            chosen={chosen}
            path={{ org, prj, pk }}
            chooseAnother={() => void choose(undefined)}
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
                {texts.fileFormatHint}
              </Text>
              <Text size="sm" c="dimmed" mb="xs">
                {texts.optOutHint}
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
  chosen: ChosenFile;
  path: { org: string; prj: string; pk: number };
  chooseAnother: () => void;
}

function Steps({ chosen: { file, rows, delimiter }, path, chooseAnother }: StepsProps) {
  const queries = useQueryClient();
  const [hasHeader, setHasHeader] = useState(() => !looksLikeData(rows[0] ?? []));
  const width = rows.reduce((max, row) => Math.max(max, row.length), 0);
  const headers = Array.from({ length: width }, (_, i) => (hasHeader && rows[0]?.[i]?.trim()) || texts.column(i + 1));
  const body = hasHeader ? rows.slice(1) : rows;
  const [targets, setTargets] = useState(() => guessAll(headers, body));
  const [check, setCheck] = useState<Progress>();
  const [result, setResult] = useState<Progress>();
  const [running, setRunning] = useState<'check' | 'import'>();
  const [error, setError] = useState<unknown>();
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);

  const map = (at: number, target: Target) => {
    // A field has one column, so the column that had it before is no longer imported.
    setTargets(targets.map((each, i) => (i === at ? target : each === target ? notImported : each)));
    setCheck(undefined);
  };
  const run = async (kind: 'check' | 'import') => {
    const controller = new AbortController();
    stop.current = controller;
    setRunning(kind);
    setError(undefined);
    const onProgress = kind === 'check' ? setCheck : setResult;
    try {
      const mapping = { targets, hasHeader };
      const dryRun = kind === 'check';
      await runImport({ file, path, mapping, delimiter, dryRun, signal: controller.signal, onProgress });
    } catch (failure) {
      if (!controller.signal.aborted) setError(failure);
    } finally {
      setRunning(undefined);
      if (kind === 'import') {
        void refreshAll(queries, ['/api/o/{org}/p/{prj}/d/', '/api/o/{org}/u/']);
      }
    }
  };
  const ready = targets.includes('email');
  const hasOptOuts = targets.includes('opt_out');
  const fileLine = `${file.name}, ${size(file.size)}`;
  return (
    <>
      <Section
        title={texts.stepFile}
        aside={
          <Button variant="default" onClick={chooseAnother} disabled={running !== undefined}>
            {texts.chooseAnotherFile}
          </Button>
        }
      >
        <Group justify="space-between" mb="xs">
          <Text size="sm">{fileLine}</Text>
          <Checkbox
            label={texts.firstRowContainsColumnNames}
            checked={hasHeader}
            disabled={running !== undefined || result !== undefined}
            onChange={({ currentTarget }) => {
              setHasHeader(currentTarget.checked);
              setCheck(undefined);
            }}
          />
        </Group>
        <Preview headers={headers} rows={body.slice(0, 5)} />
      </Section>
      <Section title={texts.stepColumns}>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="sm">
          {headers.map((header, i) => (
            <Select
              // biome-ignore lint/suspicious/noArrayIndexKey: column names may repeat
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
              value={targets[i] === notImported ? 'leave-out' : targets[i]}
              onChange={value => map(i, value === 'leave-out' || !value ? notImported : value)}
              allowDeselect={false}
              disabled={running !== undefined || result !== undefined}
            />
          ))}
        </SimpleGrid>
        {hasOptOuts && (
          <Text size="sm" c="dimmed" mt="sm">
            {texts.optOutHint}
          </Text>
        )}
        {!ready && (
          <Text size="sm" c="var(--mantine-color-error)" mt="sm" role="alert">
            {texts.chooseTheEmailColumn}
          </Text>
        )}
      </Section>
      {!result && (
        <Section title={texts.stepCheck}>
          <Text size="sm" c="dimmed" mb="sm">
            {texts.checkHint}
          </Text>
          <Group>
            <GuardedButton
              permission="distributionlist:write"
              variant={check?.done ? 'default' : 'filled'}
              disabled={!ready || running !== undefined}
              onClick={() => void run('check')}
            >
              {check?.done ? texts.checkAgain : texts.checkFile}
            </GuardedButton>
            {running === 'check' && <Stop stop={() => stop.current?.abort()} />}
          </Group>
          {check && <Outcome progress={check} headers={headers} hasOptOuts={hasOptOuts} isCheck />}
        </Section>
      )}
      {(check?.done || result) && (
        <Section title={texts.stepImport}>
          {!result?.done && (
            <Group mb="sm">
              <GuardedButton
                permission="distributionlist:write"
                disabled={running !== undefined || !ready}
                onClick={() => void run('import')}
              >
                {texts.importRows((check?.rows ?? 0) - badRows(check))}
              </GuardedButton>
              {running === 'import' && <Stop stop={() => stop.current?.abort()} />}
              {running === undefined && badRows(check) > 0 && (
                <Text size="sm" c="dimmed">
                  {texts.rowsWithErrorsWillBeSkipped(badRows(check))}
                </Text>
              )}
            </Group>
          )}
          {result && <Outcome progress={result} headers={headers} hasOptOuts={hasOptOuts} />}
          {result?.done && (
            <Group mt="sm">
              <Button component={Link} to={to.list(path.org, path.prj, path.pk)}>
                {texts.openList}
              </Button>
            </Group>
          )}
        </Section>
      )}
      <FormFailure error={error} />
      {Boolean(error) && result && (
        <Text size="sm" c="dimmed">
          {texts.importStoppedHint}
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
        <caption hidden>{texts.firstRows}</caption>
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
            // biome-ignore lint/suspicious/noArrayIndexKey: rows are identified by their position
            <Table.Tr key={y}>
              {headers.map((_, x) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have the same name
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
  /** Whether the file has an opt-out column. */
  hasOptOuts: boolean;
  isCheck?: boolean;
}

function Outcome({ progress, headers, hasOptOuts, isCheck = false }: OutcomeProps) {
  const { share, done, rows, added, existing, created_users, updated_users, opt_outs, errors, moreErrors } = progress;
  const numbers = [
    ['rows', rows],
    [isCheck ? texts.willBeAdded : 'added', added],
    [texts.alreadyMembers, existing],
    [texts.newUsers, created_users],
    [isCheck ? texts.usersToUpdate : texts.usersUpdated, updated_users],
    ...(hasOptOuts ? [[isCheck ? texts.willOptOut : texts.optedOut, opt_outs] as const] : []),
    ['errors', errors.length + moreErrors],
  ] as const;
  return (
    <Stack gap="sm" mt="sm">
      {!done && <Bar value={share * 100} aria-label={isCheck ? texts.checking : texts.importing} animated />}
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
                {texts.rowMistake(line, [field, message].filter(Boolean).join(' '))}
              </Text>
            ))}
            {errors.length > shownErrors && (
              <Text size="sm" c="dimmed">
                {texts.andMore(count(errors.length + moreErrors - shownErrors))}
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
      {done && errors.length === 0 && isCheck && (
        <Group gap={6}>
          <IconFileTypeCsv size={18} stroke={1.6} aria-hidden />
          <Text size="sm">{texts.noErrorsFound}</Text>
        </Group>
      )}
    </Stack>
  );
}
