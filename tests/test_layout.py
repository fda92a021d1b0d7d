"""Where the tests of a module are, and that the files they cite exist."""

import ast
import pathlib
import re

from benchmarks.code.metrics import FILE_LINES, FUNCTION_LINES, Function, body_lines, read

ROOT = pathlib.Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"

# Test files that are named after a property in place of a module.
PROPERTIES = {
    "beam/test_documents.py": "files of JSON lines that a pipeline reads",
    "benchmarks/test_commands.py": "commands of benchmarks in pages",
    "cli/test_kinds_of_files.py": "files of every kind",
    "cli/test_streams.py": "standard streams that are closed, full or interrupted",
    "conversion/test_damaged_checkpoints.py": "every damage of a file is one error",
    "conversion/test_e5_encoder.py": "the script that writes the multilingual encoder",
    "decoding/test_graph.py": "strategies in a graph, traced once",
    "decoding/test_greedy.py": "greedy decoding against plain Python",
    "examples/test_deployment.py": "files for Kubernetes, Docker and TensorFlow Serving",
    "generation/test_attend.py": "the signature `attend`",
    "generation/test_in_place.py": "caches that are written in place",
    "inputs/test_tables.py": "tables in Markdown, as markdown-it-py finds them",
    "layers/test_contract.py": "what holds for every layer",
    "models/test_bert_sum_abs_parity.py": "PreSumm's numbers",
    "models/test_bert_sum_ext_parity.py": "BertSum's and PreSumm's numbers",
    "models/test_dtypes.py": "every model in every data type",
    "models/test_google_parity.py": "google-research/bert's numbers",
    "models/test_jax.py": "the other backend of Keras",
    "models/test_keras_habits.py": "what users of Keras do with a model",
    "models/test_transformer_parity.py": "PyTorch's numbers",
    "papers/test_original_decodes.py": "PreSumm's answers",
    "papers/test_original_records.py": "the papers' data from its files to training",
    "serving/test_conformance.py": "the cases of TensorFlow Serving's REST API",
    "serving/test_document_cache.py": "a text is read once for further questions",
    "serving/test_grpc.py": "the gRPC services, as a client sees them",
    "serving/test_open_inference.py": "the Open Inference Protocol, as a client speaks it",
    "docs/test_integrations.py": "the blocks of docs/integrations.md",
    "inputs/test_cases.py": "files after public reports: from bytes to what may be chosen",
    "serving/test_page.py": "the page in a browser",
    "tasks/bert_sum_abs/test_gap_sentences.py": "documents without summaries",
    "tasks/bert_sum_ext/test_auto_summarizer.py": "the model by the text, from all entrances",
    "tasks/bert_sum_ext/test_explain_page.py": "the page of `tfsum explain`",
    "tasks/bert_sum_ext/test_initial_model.py": "what extractive training begins with",
    "tasks/test_table.py": "the table of tasks",
    "tasks/transformer/test_vocabularies.py": "vocabularies given or learned",
    "test_docstrings.py": "docstrings and their examples",
    "test_imports.py": "the directions of imports",
    "test_installation.py": "the wheel, and no tensorflow-text",
    "test_layout.py": "the tree of tests",
    "test_package.py": "public names, and what an import costs",
    "test_packaging.py": "what pip takes along",
    "test_readme.py": "both READMEs",
    "test_same_answers.py": "one request, one answer by every entrance",
    "test_release.py": "what a release is made of and says of itself",
    "trainer/test_all_devices.py": "GPUs",
    "training/test_lost_worker.py": "what the others do when a worker is lost",
    "training/test_same_training.py": "workers that would train different things",
    "training/test_strategies.py": "the strategy of a recipe, with workers and without",
}

CITED = re.compile(
    r"(?<![\w./-])((?:tests|tfsum|benchmarks|docs|training|examples|saved_models)/[\w./-]*\.(?:py|md|toml|json|npz|txt|tsv|c|js))\b"
)


def files_of_tests() -> list[pathlib.PurePath]:
    return [path.relative_to(TESTS) for path in sorted(TESTS.rglob("test_*.py"))]


def is_named_after(file: pathlib.PurePath) -> bool:
    """Whether a module of the package, a benchmark or an example has the name of a test file."""
    module = file.with_name(file.name.removeprefix("test_"))
    places = (ROOT / "tfsum" / module, ROOT / module, ROOT / module.with_suffix(""))
    return any(place.exists() for place in places)


def test_a_test_file_is_named_after_what_it_tests():
    unnamed = {file.as_posix() for file in files_of_tests() if not is_named_after(file)}
    assert unnamed == PROPERTIES.keys()


def imports(path: pathlib.Path) -> set[str]:
    """The modules that a file may import, in functions and by strings too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
    return names


def test_each_module_is_reached_by_a_test():
    """A test file of its name, a test that imports it, or a reached module that imports it."""
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (ROOT / "tfsum").rglob("*.py")
    }
    named = {
        ".".join(("tfsum", *file.parent.parts, file.stem.removeprefix("test_")))
        for file in files_of_tests()
    }
    seen: set[str] = set()
    ahead = named.union(*(imports(TESTS / file) for file in files_of_tests()))
    while ahead := (ahead & modules.keys()) - seen:
        seen |= ahead
        ahead = set().union(*(imports(modules[name]) for name in ahead))
    unreached = modules.keys() - seen
    assert [name for name in sorted(unreached) if modules[name].name != "__init__.py"] == []


def test_every_file_that_a_test_cites_is_there():
    missing = [
        f"{file}: {name}"
        for file in files_of_tests()
        for name in CITED.findall((TESTS / file).read_text(encoding="utf-8"))
        if not (ROOT / name).exists() and not (TESTS / name).exists()
    ]
    assert not missing, "\n".join(missing)


def test_files_and_functions_are_short():
    sources = read(ROOT / "tfsum")
    files = {f"{source.name}" for source in sources if len(source.lines) > FILE_LINES}
    assert not files, f"more than {FILE_LINES} lines"

    bodies = {
        f"{source.name.with_suffix('')} {node.name}"
        for source in sources
        for node in source.nodes
        if isinstance(node, Function) and body_lines(node) > FUNCTION_LINES
    }
    assert not bodies, f"more than {FUNCTION_LINES} lines without signature and docstring"
