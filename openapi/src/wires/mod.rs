//! Bodies of other interfaces: those that trainers and clients send already.

mod batches;
mod errors;
mod graders;
mod grades;
mod label;
mod nemo_gym;
mod openrlhf;
mod pooled;
mod rollout;
mod sglang;
mod shape;
mod slime;
mod tei;
mod told;
mod vllm;

pub use batches::{
    BatchCounts, BatchErrors, BatchFault, BatchList, BatchObject, BatchRequest, BatchStatus,
    ExpiresAfter, FileDeleted, FileList, FileObject, FilePurpose, FileStatus, FileUpload,
};
pub use errors::{
    ClassifyFailure, DetailError, Details, FieldError, PathPart, RerankFailure, ScoreFailure,
    SglangError, TeiError, TeiErrorType, VllmError, VllmErrorDetail,
};
pub use graders::{
    Grader, GraderContent, GraderInput, GraderKind, GraderMessage, GraderPart, GraderPartKind,
    GraderRole, GraderRunRequest, GraderSampling, GraderValidateRequest, SimilarityMetric,
    StringOperation, grader_parts,
};
pub use grades::{
    GraderErrors, GraderMetadata, GraderNotes, GraderProblem, GraderRunReply, GraderValidateReply,
};
pub use label::Label;
pub use nemo_gym::{
    AggregateReply, AggregateRequest, CompareReply, CompareRequest, Comparison, RawRow,
    ReverifyMode, SessionSeed, VerifyReply, VerifyRequest,
};
pub use openrlhf::{RewardQuery, RewardReply};
pub use pooled::{Pooled, PooledUsage};
pub use rollout::{
    Loose, RolloutContent, RolloutInput, RolloutItem, RolloutParams, RolloutResponse,
};
pub use sglang::{
    Embedded, EmbeddingReply, EmbeddingRequest, SglangMeta, SglangReward, SglangRewardRequest,
    SglangRewards, SglangScoreRequest, SglangScores, Vector,
};
pub use shape::{
    ClassifyBody, ClassifyBodyReply, RerankBody, RerankBodyReply, ScoreBody, ScoreReply, Shape,
    ShapeError, parse_classify, parse_rerank, parse_score,
};
pub use slime::{RemoteReward, RemoteRewardReply, RemoteRewardRequest};
pub use tei::{
    PredictInputs, PredictReply, PredictRequest, Prediction, TeiInfo, TeiLabels, TeiModelType,
    TeiRank, TeiRerankRequest,
};
pub use vllm::{
    Classified, ClassifyReply, DetokenizeReply, DetokenizeRequest, Encoding,
    GenerativeScoringRequest, LoadAdapterRequest, PairScore, PairScores, PooledRows, PoolingReply,
    PoolingRequest, PoolingTask, RerankDocument, RerankReply, RerankRequest, RerankText, Reranked,
    Rows, TokenizeReply, TokenizeRequest, UnloadAdapterRequest, VllmClassifyRequest,
    VllmScoreRequest,
};
