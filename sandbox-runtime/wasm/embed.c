/*
 * The interpreter as a WASI reactor: the functions the host may call besides the WASI start function `_initialize`.
 *
 * The host calls py_init once, then py_run once. Between the two no C frame is live, so the linear memory and the
 * module's mutable globals are the whole state of the interpreter, and a copy of them is a snapshot.
 * README.md describes every import and export of the module.
 */
#include <Python.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

/* Status of py_init; the host reports it, so the numbers are part of the interface. */
enum { INIT_OK = 0, INIT_NO_PRECONFIG = 1, INIT_NO_INTERPRETER = 2, INIT_BOOT_FAILED = 3, INIT_NO_MAIN = 4 };

/* Exit statuses of py_run that main() did not choose; the first and the last are those of the python command. */
enum { EXIT_RAISED = 1, EXIT_NOT_INITIALIZED = 2, EXIT_NOT_FLUSHED = 120 };

static PyObject *main_function;

void *EXPORT(py_alloc)(size_t size)
{
    return malloc(size);
}

void EXPORT(py_free)(void *pointer)
{
    free(pointer);
}

/* Starts an interpreter that reads no environment, no site folder, no user folder, and writes no bytecode. */
static int start_interpreter(void)
{
    PyPreConfig preconfig;
    PyPreConfig_InitIsolatedConfig(&preconfig);
    preconfig.utf8_mode = 1;
    if (PyStatus_Exception(Py_PreInitialize(&preconfig))) {
        return INIT_NO_PRECONFIG;
    }
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    config.write_bytecode = 0;
    config.pathconfig_warnings = 0;
    /* SIGINT must have Python's handler: the host's interrupt is delivered through it. */
    config.install_signal_handlers = 1;
    /* Modules in the pack carry hashes of their sources that need no check. */
    PyStatus status = PyConfig_SetString(&config, &config.check_hash_pycs_mode, L"never");
    if (!PyStatus_Exception(status)) {
        status = PyConfig_SetString(&config, &config.home, L"/usr/local");
    }
    if (!PyStatus_Exception(status)) {
        status = PyConfig_SetString(&config, &config.program_name, L"python");
    }
    if (!PyStatus_Exception(status)) {
        status = Py_InitializeFromConfig(&config);
    }
    PyConfig_Clear(&config);
    return PyStatus_Exception(status) ? INIT_NO_INTERPRETER : INIT_OK;
}

/* Runs the boot source in its own module and keeps its main(). */
static int run_boot_source(const char *source)
{
    PyObject *module = PyImport_AddModule("_embedded_boot");
    if (module == NULL) {
        return INIT_BOOT_FAILED;
    }
    PyObject *names = PyModule_GetDict(module);
    PyObject *result = NULL;
    PyObject *code = Py_CompileString(source, "<embedded boot>", Py_file_input);
    if (code != NULL) {
        result = PyEval_EvalCode(code, names, names);
        Py_DECREF(code);
    }
    if (result == NULL) {
        PyErr_Print();
        return INIT_BOOT_FAILED;
    }
    Py_DECREF(result);
    main_function = PyDict_GetItemString(names, "main");
    Py_XINCREF(main_function);
    return main_function == NULL ? INIT_NO_MAIN : INIT_OK;
}

/* `source` is UTF-8, `length` bytes long, and remains the caller's. */
int EXPORT(py_init)(const char *source, size_t length)
{
    int status = start_interpreter();
    if (status != INIT_OK) {
        return status;
    }
    char *terminated = malloc(length + 1);
    if (terminated == NULL) {
        return INIT_BOOT_FAILED;
    }
    memcpy(terminated, source, length);
    terminated[length] = '\0';
    status = run_boot_source(terminated);
    free(terminated);
    return status;
}

/* Calls main(). For SystemExit, PyErr_Print itself ends the program through proc_exit. */
static int call_main(void)
{
    PyObject *result = PyObject_CallNoArgs(main_function);
    if (result == NULL) {
        PyErr_Print();
        return EXIT_RAISED;
    }
    long status = result == Py_None ? 0 : PyLong_AsLong(result);
    Py_DECREF(result);
    if (status == -1 && PyErr_Occurred()) {
        PyErr_Print();
        return EXIT_RAISED;
    }
    return (int)status;
}

/*
 * Calls main() of the boot source and ends the interpreter. The integer returned by main() is the exit status, None
 * counts as 0; an exception is printed to fd 2. The instance cannot be used afterwards.
 */
int EXPORT(py_run)(void)
{
    if (main_function == NULL) {
        return EXIT_NOT_INITIALIZED;
    }
    int status = call_main();
    Py_CLEAR(main_function);
    return Py_FinalizeEx() < 0 ? EXIT_NOT_FLUSHED : status;
}
